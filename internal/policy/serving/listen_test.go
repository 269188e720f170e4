package serving

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/collabui/collabui/fault"
)

func TestOnlyThisMachineIsAnsweredWithoutAKey(t *testing.T) {
	for addr, says := range map[string]string{":0": "SOME_KEY", "0.0.0.0:0": "SOME_KEY", "[::]:0": "SOME_KEY", "example.org:80": "SOME_KEY", "8080": "expected HOST:PORT"} {
		if l, err := Listen(addr, "", "SOME_KEY"); err == nil || fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v %v", addr, l, err)
		}
	}
	for addr, key := range map[string]string{"127.0.0.1:0": "", "localhost:0": "", ":0": "secret"} {
		l, err := Listen(addr, key, "SOME_KEY")
		if err != nil {
			t.Errorf("%s: %v", addr, err)
			continue
		}
		if again, err := Listen(l.Addr().String(), key, "SOME_KEY"); err == nil || !strings.Contains(err.Error(), "choose another") {
			t.Errorf("a port that is taken: %v %v", again, err)
		}
		_ = l.Close()
	}
}

func TestWhatIsBeingAnsweredIsFinished(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	served := make(chan error, 1)
	begun := make(chan struct{})
	go func() {
		served <- Serve(ctx, l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			close(begun)
			time.Sleep(100 * time.Millisecond)
			w.WriteHeader(http.StatusTeapot)
		}), 5*time.Second)
	}()
	answered := make(chan error, 1)
	go func() {
		res, err := http.Get("http://" + l.Addr().String())
		if err == nil && res.StatusCode != http.StatusTeapot {
			err = fault.New(fault.Fatal, "%s", res.Status)
		}
		answered <- err
	}()
	<-begun
	end()
	if err := <-answered; err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	if err := Serve(t.Context(), l, nil, time.Second); err == nil {
		t.Error("a closed listener serves")
	}
}

func TestTheKeyIsAskedFor(t *testing.T) {
	for header, want := range map[string]bool{"Bearer secret": true, "bearer secret": true, "Bearer secre": false, "Bearer": false, "": false, "Basic secret": false} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Authorization", header)
		if Allowed(r, "secret") != want || !Allowed(r, "") {
			t.Errorf("%q", header)
		}
	}
}
