//go:build integration

package integration

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/collabui/collabui/internal/store"
)

// Keys of the S3 servers that tests start.
const (
	s3Key    = "1234567890abcdef" // both access key and secret key
	s3Bucket = "collabui"
)

var s3Env = []string{"COLLABUI_S3_ACCESS_KEY=" + s3Key, "COLLABUI_S3_SECRET_KEY=" + s3Key}

// external is one of our programs that runs at an address of its own, as another person would start it.
type external struct {
	addr string
	end  func() // may be called again
}

// outside starts a program and waits until it is ready. The program ends with the test.
func outside(t *testing.T, env []string, program string, args ...string) external {
	t.Helper()
	for range 4 { // another program may take the address, or a port that Temporal chooses, in between
		if x, ready := startOutside(t, env, program, args...); ready {
			t.Cleanup(x.end)

			return x
		}
	}
	t.Fatalf("%s %v ended, want a line that it is ready", program, args)

	return external{}
}

func startOutside(t *testing.T, env []string, program string, args ...string) (x external, ready bool) {
	t.Helper()
	addr := freeAddr(t)
	listen := map[bool]string{true: "--addr", false: "--listen"}[program == "collabui-local"]
	cmd := exec.Command(binary(program), append(args, listen, addr, "--parent-pipe")...)
	cmd.Env, cmd.Stderr = append(os.Environ(), env...), os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	x = external{addr: addr, end: sync.OnceFunc(func() { _ = in.Close(); _ = cmd.Wait() })}
	ready = program != "collabui-local" || bufio.NewScanner(out).Scan() // the policy server prints no such line
	if !ready {
		x.end()
	}

	return x, ready
}

func outsideTemporal(t *testing.T, dir string) string {
	t.Helper()
	return outside(t, nil, "collabui-local", "temporal", "--dir", dir, "--namespace", "collabui").addr
}

func outsideS3(t *testing.T, dir string, args ...string) string {
	t.Helper()
	args = append([]string{"s3", "--dir", dir, "--bucket", s3Bucket}, args...)

	return outside(t, s3Env, "collabui-local", args...).addr
}

func outsideRedis(t *testing.T) (url string) {
	t.Helper()

	return "redis://" + outside(t, nil, "collabui-local", "redis").addr
}

// outsideBucket opens a bucket on a new S3 server.
func outsideBucket(t *testing.T) store.Bucket {
	t.Helper()
	b, err := store.Open(store.Config{
		Endpoint: outsideS3(t, t.TempDir()),
		Bucket:   s3Bucket,
		Access:   s3Key,
		Secret:   s3Key,
	})
	if err != nil {
		t.Fatal(err)
	}

	return b
}

// ports counts the ports that tests have requested.
var ports atomic.Int32

// freeAddr returns an address of this host on which nothing listens. Its port is below the ports that the kernel
// assigns, so nothing else is likely to take it before it is used.
func freeAddr(t *testing.T) string {
	t.Helper()
	for range 1000 {
		port := 20000 + (os.Getpid()*100+int(ports.Add(1)))%10000
		addr := fmt.Sprintf("127.0.0.1:%d", port)
		if l, err := net.Listen("tcp", addr); err == nil {
			_ = l.Close()

			return addr
		}
	}
	t.Fatal("none of 1000 ports was free, want one")

	return ""
}
