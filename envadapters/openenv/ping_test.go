package openenv

import (
	"context"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters/scripted"
)

// onePlace serves a suite with one place and frequent pings.
func onePlace(t *testing.T) (address string) {
	t.Helper()
	h, err := handler(&scripted.Suite{Places: 1}, 20*time.Millisecond, 2*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)

	return strings.TrimPrefix(srv.URL, "http://")
}

// begin opens a session that holds a place, and counts the pings that it has answered.
func begin(t *testing.T, address string) (*websocket.Conn, *atomic.Int64) {
	t.Helper()
	answered := &atomic.Int64{}
	ws, _, err := websocket.Dial(t.Context(), "ws://"+address+"/ws", &websocket.DialOptions{
		OnPingReceived: func(context.Context, []byte) bool {
			answered.Add(1)

			return true
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ws.CloseNow() })
	ask(t, ws, FrameReset, resetData{Task: "a", Split: domain.SplitTrain})

	return ws, answered
}

// ask sends a frame and reads its answer.
func ask(t *testing.T, ws *websocket.Conn, kind FrameType, data any) {
	t.Helper()
	raw, err := encode(kind, data)
	if err == nil {
		err = ws.Write(t.Context(), websocket.MessageText, raw)
	}
	if err == nil {
		_, raw, err = ws.Read(t.Context())
	}
	if err != nil || !strings.Contains(string(raw), `"`+string(frameObservation)+`"`) {
		t.Fatalf("%s: %s, %v, want an observation", kind, raw, err)
	}
}

// tunnel forwards connections to an address until cut is called. From then on it drops everything, as a vanished
// network does, and both sockets stay open.
func tunnel(t *testing.T, to string) (address string, cut func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	vanished := &atomic.Bool{}
	forward := func(to, from net.Conn) {
		part := make([]byte, 4096)
		for {
			n, err := from.Read(part)
			if err != nil && !vanished.Load() {
				_ = to.Close()
			}
			if err != nil {
				return
			}
			if !vanished.Load() {
				_, _ = to.Write(part[:n])
			}
		}
	}
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", to)
			if err != nil {
				_ = near.Close()

				return
			}
			go forward(near, far)
			go forward(far, near)
			context.AfterFunc(t.Context(), func() {
				_ = near.Close()
				_ = far.Close()
			})
		}
	}()

	return l.Addr().String(), func() { vanished.Store(true) }
}

func TestAClientThatIsGoneFreesItsPlaceThoughItsSocketIsOpen(t *testing.T) {
	for name, lose := range map[string]func(t *testing.T, address string){
		"it hangs": func(t *testing.T, address string) { begin(t, address) }, // nothing reads any more
		"its network vanishes": func(t *testing.T, address string) {
			near, cut := tunnel(t, address)
			ws, _ := begin(t, near)
			go func() { _, _, _ = ws.Read(t.Context()) }()
			cut()
		},
		"it hangs while it sends": func(t *testing.T, address string) {
			ws, _ := begin(t, address)
			w, err := ws.Writer(t.Context(), websocket.MessageText)
			if err == nil {
				_, err = io.WriteString(w, `{"type":`)
			}
			if err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := onePlace(t)
			lose(t, address)
			began := time.Now()
			begin(t, address) // it waits for a place, and is refused after openLimit
			t.Logf("the place is free after %v", time.Since(began).Round(time.Millisecond))
		})
	}
}

func TestAClientThatWaitsForItsAgentKeepsItsPlace(t *testing.T) {
	t.Parallel()
	ws, answered := begin(t, onePlace(t))
	read := make(chan struct{})
	go func() { // as clients do while an agent thinks
		defer close(read)
		_, _, _ = ws.Read(t.Context())
	}()
	for end := time.Now().Add(20 * time.Second); answered.Load() < 50; {
		select {
		case <-read:
			t.Fatalf("the session ended after %d pings, want it kept", answered.Load())
		case <-time.After(5 * time.Millisecond):
		}
		if time.Now().After(end) {
			t.Fatalf("the client has got %d pings, want 50", answered.Load())
		}
	}
	raw, err := encode(FrameStep, domain.Action{Type: domain.ActionClick})
	if err == nil {
		err = ws.Write(t.Context(), websocket.MessageText, raw)
	}
	if err != nil {
		t.Fatalf("a step after %d pings: %v, want an answer", answered.Load(), err)
	}
	<-read // the answer, because nothing else is sent
}
