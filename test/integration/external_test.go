//go:build integration

package integration

import (
	"bufio"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// outside starts one of our binaries as somebody else would, with its own address, and gives the address.
func (m *machine) outside(env []string, program string, args ...string) string {
	m.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		m.t.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close()
	cmd := exec.Command(filepath.Join(filepath.Dir(binary()), program), append(args, "--addr", addr, "--parent-pipe")...)
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		m.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		m.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	end := sync.OnceFunc(func() { _ = in.Close(); _ = cmd.Wait() })
	m.t.Cleanup(end)
	m.end = end
	if program == "collabui-local" && !bufio.NewScanner(out).Scan() {
		m.t.Fatal(args[0], " did not start")
	}
	return addr
}

// TestEveryServiceCanBeReplacedByAnAddressAlone trains with one service after the other given from outside, and ends with the same digest each time.
func TestEveryServiceCanBeReplacedByAnAddressAlone(t *testing.T) {
	const keys = "1234567890abcdef"
	tiny := strings.NewReplacer("epochs: 2", "epochs: 1", "slots: 16", "slots: 4", "max_chunks: 3", "max_chunks: 1", "val: 10, test_seeds: 6, test_templates: 6", "val: 2, test_seeds: 0, test_templates: 0").Replace(specification)
	s3keys := []string{"COLLABUI_S3_ACCESS_KEY=" + keys, "COLLABUI_S3_SECRET_KEY=" + keys}
	first := ""
	for _, name := range []string{"temporal", "s3", "redis", "policy"} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			if err := os.WriteFile(m.spec, []byte(tiny), 0o644); err != nil {
				t.Fatal(err)
			}
			addr := ""
			switch name {
			case "temporal":
				addr = m.outside(nil, "collabui-local", "temporal", "--dir", t.TempDir(), "--namespace", "collabui")
			case "s3":
				m.env = append(m.env, s3keys...)
				addr = "http://" + m.outside(s3keys, "collabui-local", "s3", "--dir", t.TempDir(), "--bucket", "collabui")
			case "redis":
				addr = "redis://" + m.outside(nil, "collabui-local", "redis")
			case "policy": // it reads the store of this folder, whose address and keys stay the same from start to start
				m.must("up")
				s3 := m.service("s3").Addr
				m.must("down")
				var own struct{ Access, Secret string }
				raw, err := os.ReadFile(filepath.Join(m.data, "secrets.json"))
				if err == nil {
					err = json.Unmarshal(raw, &own)
				}
				if err != nil {
					t.Fatal(err)
				}
				addr = "http://" + m.outside([]string{"COLLABUI_S3=" + s3, "COLLABUI_BUCKET=collabui", "COLLABUI_S3_ACCESS_KEY=" + own.Access, "COLLABUI_S3_SECRET_KEY=" + own.Secret,
					"COLLABUI_TEMPORAL=x", "COLLABUI_POLICY=x", "COLLABUI_CALL_LOG=" + m.file("calls.log")}, "collabui", "policy-server") + "/v1"
			}
			m.must("train", m.spec, "--"+name, addr)
			if s := m.service(name); !s.External || s.PID != 0 || !strings.HasSuffix(addr, s.Addr) {
				t.Errorf("%s runs here: %+v", name, s)
			}
			s := m.settle()
			if first == "" {
				first = s.FinalDigest
			}
			if s.FinalDigest != first || first == "" {
				t.Errorf("final digest %s, with another service outside %s", s.FinalDigest, first)
			}
		})
	}
}
