package httpd

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/test/kit/certificates"
)

func TestListenWithoutAKeyTakesOnlyLoopback(t *testing.T) {
	for _, c := range []struct{ addr, key, says string }{
		{":0", "", "SOME_KEY"},
		{"0.0.0.0:0", " \n", "SOME_KEY"}, // no key, in a secret that was made from a template
		{"[::]:0", "", "SOME_KEY"},
		{"example.org:80", "", "SOME_KEY"},
		{"8080", "", "expected HOST:PORT"},
	} {
		t.Run(c.addr, func(t *testing.T) {
			_, err := Listen(c.addr, c.key, "SOME_KEY", TLS{})
			if err == nil || fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), c.says) {
				t.Errorf("Listen(%q) = %v, want an invalid fault with %q", c.addr, err, c.says)
			}
		})
	}
}

func TestListenTakesAFreePortAndRefusesATakenOne(t *testing.T) {
	for _, c := range []struct{ addr, key string }{
		{"127.0.0.1:0", ""},
		{"localhost:0", ""},
		{":0", "secret"},
	} {
		t.Run(c.addr, func(t *testing.T) {
			l, err := Listen(c.addr, c.key, "SOME_KEY", TLS{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = l.Close() }()

			_, err = Listen(l.Addr().String(), c.key, "SOME_KEY", TLS{})
			if err == nil || !strings.Contains(err.Error(), "choose another") {
				t.Errorf("Listen on a taken port = %v, want the advice to choose another", err)
			}
		})
	}
}

func TestServeGuardsTheLoopback(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- Serve(ctx, l, http.NotFoundHandler(), time.Second) }()

	for host, want := range map[string]int{"": http.StatusNotFound, "evil.example": http.StatusMisdirectedRequest} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+l.Addr().String(), nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host // if empty, the host of the address is sent
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("status for the host %q = %d, want %d", host, res.StatusCode, want)
		}
	}

	end()
	if err := <-served; err != nil {
		t.Errorf("Serve = %v, want its end", err)
	}
}

func TestServeFinishesRequestsUnderWay(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	ctx, end := context.WithCancel(t.Context())
	served := make(chan error, 1)
	begun := make(chan struct{})
	slow := func(w http.ResponseWriter, _ *http.Request) {
		close(begun)
		time.Sleep(100 * time.Millisecond)
		w.WriteHeader(http.StatusTeapot)
	}
	go func() { served <- Serve(ctx, l, http.HandlerFunc(slow), 5*time.Second) }()

	answered := make(chan error, 1)
	go func() {
		res, err := http.Get("http://" + l.Addr().String())
		if err == nil && res.StatusCode != http.StatusTeapot {
			err = fault.New(fault.Fatal, "status %s, want 418", res.Status)
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
		t.Error("Serve on a closed listener = nil, want an error")
	}
}

func TestACertificateIsRenewedWithoutARestart(t *testing.T) {
	dir := t.TempDir()
	first, cert, key := certificates.Issue(t, dir, "server", nil)
	files := TLS{Cert: cert, Key: key}
	l, err := Listen("127.0.0.1:0", "", "SOME_KEY", files)
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- Serve(ctx, l, http.HandlerFunc(Healthy), time.Second) }()
	if got := URL(l, "http"); !strings.HasPrefix(got, "https://127.0.0.1:") {
		t.Errorf("the address is %s, want https", got)
	}
	shows := func(want tls.Certificate, when string) {
		t.Helper()
		c, err := tls.Dial("tcp", l.Addr().String(), &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		if !c.ConnectionState().PeerCertificates[0].Equal(want.Leaf) {
			t.Errorf("%s another certificate is shown, want its own", when)
		}
	}
	shows(first, "at the start")
	second, _, _ := certificates.Issue(t, dir, "server", nil)
	shows(second, "after the renewal")
	if err := os.WriteFile(cert, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	shows(first, "during a replacement")
	end()
	if err := <-served; err != nil {
		t.Errorf("Serve = %v, want no error", err)
	}

	for _, wrong := range []TLS{{Cert: cert}, {Key: key}, files} {
		if _, err := Listen("127.0.0.1:0", "", "SOME_KEY", wrong); fault.KindOf(err) != fault.Invalid {
			t.Errorf("Listen with %+v = %v, want an invalid fault", wrong, err)
		}
	}
}
