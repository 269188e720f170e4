//go:build integration

package integration

import (
	"bufio"
	"context"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// paths are paths that at least one service answers.
var paths = []string{
	"/", "/health", "/pages/index.html", "/v1/models", "/namespaces/collabui/workflows", "/api/v1/namespaces",
}

// TestNoPortAnswersAnotherSite sends requests to every port on which a process of a running training listens, as a page
// of another site would, and as a page whose name was rebound to the loopback.
func TestNoPortAnswersAnotherSite(t *testing.T) {
	t.Parallel()
	m := newMachine(t, specification)
	m.must("train", m.spec, "--detach")
	m.rollsOut("0001", 5, 3*time.Minute)

	ports := m.listeners()
	if len(ports) < 7 { // Temporal has five, its UI included
		t.Errorf("got the ports %v, want at least 7", ports)
	}
	for addr, program := range ports {
		host, _, err := net.SplitHostPort(addr)
		if err != nil || !net.ParseIP(host).IsLoopback() {
			t.Errorf("%s listens at %s, want the loopback interface only", program, addr)
			continue
		}
		for name, change := range map[string]func(*http.Request){
			"a rebound name": func(r *http.Request) { r.Host = "evil.example" },
			"another site":   func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") },
			"a form of another site": func(r *http.Request) {
				r.Method = http.MethodPost
				r.Header.Set("Origin", "http://evil.example")
				r.Header.Set("Content-Type", "text/plain")
			},
		} {
			for _, path := range paths {
				if code := ask(t, addr, path, change); code >= 200 && code < 300 {
					t.Errorf("%s answers %s at %s%s with %d, want a refusal", program, name, addr, path, code)
				}
			}
		}
	}
	m.must("down")
}

// ask makes a request and returns the status, or 0 without an answer of HTTP/1.
func ask(t *testing.T, addr, path string, change func(*http.Request)) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	change(r)
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return 0
	}
	_ = res.Body.Close()

	return res.StatusCode
}

// listeners returns the addresses on which the supervisor and all processes below it listen, and the programs.
func (m *machine) listeners() map[string]string {
	m.t.Helper()
	sockets := map[string]string{} // address by inode
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		f, err := os.Open(file)
		if err != nil {
			continue
		}
		for sc := bufio.NewScanner(f); sc.Scan(); {
			fields := strings.Fields(sc.Text())
			if len(fields) > 9 && fields[3] == "0A" { // listening
				sockets[fields[9]] = address(fields[1])
			}
		}
		_ = f.Close()
	}

	out := map[string]string{}
	all := append(descendants(m.supervisorPID()), process{pid: m.supervisorPID(), name: "supervisor"})
	for _, p := range all {
		links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", p.pid))
		for _, l := range links {
			to, _ := os.Readlink(l) // it may have been closed
			inode := strings.TrimSuffix(strings.TrimPrefix(to, "socket:["), "]")
			if addr, ok := sockets[inode]; ok {
				out[addr] = p.name
			}
		}
	}

	return out
}

// address decodes an address of /proc/net/tcp: words of four bytes in the machine's order.
func address(s string) string {
	host, port, _ := strings.Cut(s, ":")
	raw, _ := hex.DecodeString(host)
	for i := 0; i+4 <= len(raw); i += 4 {
		slices.Reverse(raw[i : i+4])
	}
	var n int
	_, _ = fmt.Sscanf(port, "%X", &n)

	return net.JoinHostPort(net.IP(raw).String(), fmt.Sprint(n))
}
