package browser

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/collabui/collabui/test/kit/nameserver"
)

// TestListedHostsAreReachedAndNoLoopback opens pages of listed sites under their names, by HTTP and WebSocket. Names
// that resolve to the loopback, and redirects to it, reach no port but the listed one.
func TestListedHostsAreReachedAndNoLoopback(t *testing.T) {
	if _, err := Find(); err != nil {
		t.Skip(err)
	}
	var requested sync.Map
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requested.Store(r.Host+r.URL.Path, true)
		switch {
		case r.FormValue("to") != "":
			http.Redirect(w, r, r.FormValue("to"), http.StatusFound)
		case r.URL.Path == "/websocket":
			if c, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true}); err == nil {
				_ = c.Write(r.Context(), websocket.MessageText, []byte("hello"))
				_, _, _ = c.Read(r.Context())
			}
		default:
			w.Header().Set("Access-Control-Allow-Origin", "*")
			_, _ = io.WriteString(w, "hello")
		}
	}))
	t.Cleanup(site.Close)
	_, port, _ := net.SplitHostPort(site.Listener.Addr().String())
	all := &trap{}
	other := all.set(t, ":0")
	nameserver.Start(t, map[string]string{
		"site.example": "127.0.0.1", "www.site.example": "127.0.0.1", "bound.example": "127.0.0.1",
		"six.example": "::1", "any.example": "0.0.0.0", "cloud.example": "169.254.169.254",
	})
	t.Setenv(EnvHosts, "*.site.example, site.example,bound.example,six.example,any.example,cloud.example,"+
		"localhost:"+port)
	base := serveHostile(t, func(*http.Request) {})
	pool := NewPool(base, 1, 1)
	t.Cleanup(pool.Close)

	tab, err := pool.browsers[0].Blank(t.Context(), View{Width: 100, Height: 100})
	if err != nil {
		t.Fatal(err)
	}
	if err := tab.Navigate(t.Context(), "http://site.example:"+port+"/"); err != nil {
		t.Fatal(err)
	}
	var text string
	err = tab.Running(t.Context(), func() error {
		return tab.Eval(t.Context(), `(async () => {
			const read = await (await fetch("http://www.site.example:`+port+`/")).text()
			const socket = new WebSocket("ws://site.example:`+port+`/websocket")
			const message = await new Promise(done => {
				socket.onmessage = e => done(e.data)
				socket.onerror = () => done("an error")
			})

			return [document.body.innerText, read, message].join(" ")
		})()`, &text)
	})
	if err != nil || text != "hello hello hello" {
		t.Errorf("the sites sent %q and error %v, want hello three times", text, err)
	}
	tab.Close()

	var addresses []string
	for _, host := range []string{
		"bound.example", "six.example", "any.example", "site.example", "other.example", "127.0.0.1", "[::1]",
		"localhost",
	} {
		direct := "http://" + host + ":" + other + "/"
		redirect := "http://site.example:" + port + "/redirect?to=" + url.QueryEscape(direct) + "%26way="
		addresses = append(addresses, direct, redirect)
	}
	begun := time.Now()
	redirected := func() bool {
		_, ok := requested.Load("site.example:" + port + "/redirect")

		return ok
	}
	attack(t, pool, base, func() bool { return redirected() || time.Since(begun) > time.Minute }, addresses...)
	if !redirected() {
		t.Error("the site got no request for a redirect, want one: this test shows nothing about it")
	}
	all.empty(t)
}

// TestTheProxyOfPagesRefuses sends requests to the proxy as a page would.
func TestTheProxyOfPagesRefuses(t *testing.T) {
	nameserver.Start(t, map[string]string{"bound.example": "127.0.0.1", "cloud.example": "169.254.169.254"})
	address, stop, err := serveProxy("bound.example,cloud.example,fe80::1,*.example")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	proxy, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{Proxy: http.ProxyURL(proxy)}}
	for to, want := range map[string]string{
		"http://bound.example:9/":     EnvHosts,
		"http://localhost.:9/":        EnvHosts,
		"http://unlisted.test/":       "add unlisted.test to its list " + EnvHosts,
		"http://cloud.example/latest": "169.254.169.254",
		"http://[fe80::1]/":           "never connects",
		"http://2130706433/":          "expected a name",
		address:                       EnvHosts,
	} {
		res, err := client.Get(to)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || res.StatusCode != http.StatusForbidden || !strings.Contains(string(raw), want) {
			t.Errorf("%s: %s, %q and error %v; want 403 and %q", to, res.Status, raw, err, want)
		}
		secret, _ := strings.CutPrefix(to, "http")
		if _, err := client.Get("https" + secret); err == nil || !strings.Contains(err.Error(), "Forbidden") {
			t.Errorf("a tunnel to %s: %v, want Forbidden", to, err)
		}
	}
	res, err := http.Get(address + "/")
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusBadRequest {
		t.Errorf("the proxy as a server: %s, want 400", res.Status)
	}
}
