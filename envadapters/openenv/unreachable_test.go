package openenv

import (
	"net"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/scripted"
)

// silent returns the address of a server that cannot be reached: its backlog is full, so the kernel drops packets, as a
// firewall or a host that is down would.
func silent(t *testing.T) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	at, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	address := (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: at.(*syscall.SockaddrInet4).Port}).String()
	for range 3 { // the backlog, and one more
		if c, err := net.DialTimeout("tcp", address, 100*time.Millisecond); err == nil {
			t.Cleanup(func() { _ = c.Close() })
		}
	}

	return "ws://" + address + "/ws"
}

// frozen returns the address of a server that accepts connections and sends nothing.
func frozen(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })

	return "ws://" + l.Addr().String() + "/ws"
}

// TestServersThatCannotBeReachedAreDeadWithinSeconds matters because a person waits for the checks before a start,
// which end after eight seconds.
func TestServersThatCannotBeReachedAreDeadWithinSeconds(t *testing.T) {
	t.Parallel()
	s, err := New(envadapters.Options{Servers: []string{silent(t), silent(t), frozen(t)}})
	if err != nil {
		t.Fatal(err)
	}

	began := time.Now()
	var all sync.WaitGroup
	for range 3 { // the roles of a worker share their suites
		all.Go(func() {
			if _, err := s.Templates(domain.SplitTrain); err == nil {
				t.Error("the server listed its tasks, want an error")
			}
			if err := s.Rehearse(); err != nil {
				t.Errorf("Rehearse = %v, want no error without a mapping", err)
			}
			if h := s.Check(t.Context()); h.State != envadapters.Dead || h.Fix == "" {
				t.Errorf("Check = %+v, want %s and a fix", h, envadapters.Dead)
			}
		})
	}
	all.Wait()
	if took := time.Since(began); took > 7*time.Second {
		t.Errorf("the servers were found dead after %s, want at most 7s", took)
	}
}

func TestAServerThatCannotBeReachedIsPassedOver(t *testing.T) {
	t.Parallel()
	_, address := serve(t, &scripted.Suite{Length: 3})
	s, err := New(envadapters.Options{Servers: []string{silent(t), address}})
	if err != nil {
		t.Fatal(err)
	}
	h := s.Check(t.Context())
	if h.State != envadapters.Degraded || !strings.Contains(h.Detail, "tasks") {
		t.Errorf("Check = %+v, want %s, with the tasks of the other server", h, envadapters.Degraded)
	}
}

func TestAServerThatAnsweredBeforeIsDeadWithoutIt(t *testing.T) {
	t.Parallel()
	h, err := Handler(&scripted.Suite{Length: 3})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(h)
	defer srv.Close()
	s, err := New(envadapters.Options{Servers: []string{"ws" + strings.TrimPrefix(srv.URL, "http") + "/ws"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Check(t.Context()); got.State != envadapters.Ready {
		t.Fatalf("Check = %+v, want %s", got, envadapters.Ready)
	}
	srv.Close()
	if got := s.Check(t.Context()); got.State != envadapters.Dead || !strings.Contains(got.Fix, "envs serve") {
		t.Errorf("Check = %+v without the server, want %s and how to start it", got, envadapters.Dead)
	}
}
