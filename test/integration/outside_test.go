//go:build integration

package integration

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"

	"github.com/collabui/collabui/internal/store"
)

// Of the S3 servers that tests start.
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
	addr := freeAddr(t)
	cmd := exec.Command(binary(program), append(args, "--addr", addr, "--parent-pipe")...)
	cmd.Env = append(os.Environ(), env...)
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

	x := external{addr: addr, end: sync.OnceFunc(func() { _ = in.Close(); _ = cmd.Wait() })}
	t.Cleanup(x.end)
	if program == "collabui-local" && !bufio.NewScanner(out).Scan() {
		t.Fatalf("%s ended, want a line that it is ready", args[0])
	}

	return x
}

func outsideTemporal(t *testing.T, dir string) string {
	t.Helper()
	return outside(t, nil, "collabui-local", "temporal", "--dir", dir, "--namespace", "collabui").addr
}

func outsideS3(t *testing.T, dir string) string {
	t.Helper()
	return outside(t, s3Env, "collabui-local", "s3", "--dir", dir, "--bucket", s3Bucket).addr
}

func outsideRedis(t *testing.T) (url string, end func()) {
	t.Helper()
	x := outside(t, nil, "collabui-local", "redis")

	return "redis://" + x.addr, x.end
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

// freeAddr returns an address of this host that nothing listens on.
func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()

	return l.Addr().String()
}
