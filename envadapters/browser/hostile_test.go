package browser

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

//go:embed testdata/hostile.html
var hostile string

// TestAPageReachesItsOwnServerAlone lets a page request services of this machine in every way that pages know, by every
// spelling of their addresses. No listener gets a connection or a packet. The page requests its own server in the same
// ways, which shows that they work.
func TestAPageReachesItsOwnServerAlone(t *testing.T) {
	if _, err := Find(); err != nil {
		t.Skip(err)
	}
	var requested sync.Map // the ways in which the page requested its own server
	base := serveHostile(t, func(r *http.Request) { requested.Store(strings.Trim(r.URL.Path, "/"), true) })
	page := strings.TrimPrefix(base, "http://")
	ip, _, _ := net.SplitHostPort(page)

	all := &trap{}
	spellings := []string{
		ip, "127.0.0.1", "127.0.0.2", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "127.0.0.1.", "127。0。0。1",
		"localhost", "localhost.", "a.localhost", "ip6-localhost", "0.0.0.0", "0", "[::1]", "[::]",
		"[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:0:0:1]",
	}
	interfaces, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range interfaces {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() {
			spellings = append(spellings, strings.Trim(net.JoinHostPort(n.IP.String(), ""), ":"))
		}
	}
	everywhere := all.set(t, ":0")
	var addresses []string
	for _, host := range spellings {
		addresses = append(addresses, "http://"+host+":"+everywhere+"/")
	}
	for at, hosts := range map[string][]string{
		"127.0.0.1:0": {"127.0.0.1", "localhost"}, "[::1]:0": {"[::1]", "localhost"}, ip + ":0": {ip},
	} {
		port := all.set(t, at)
		for _, host := range hosts {
			addresses = append(addresses, "http://"+host+":"+port+"/")
		}
	}

	pool := NewPool(base, 1, 1)
	t.Cleanup(pool.Close)
	ways := []string{
		"fetch", "xhr", "beacon", "image", "script", "frame", "form-post", "open", "prefetch", "websocket",
		"eventsource", "service-worker", "redirect-fetch", "refresh-frame", "location-frame",
	}
	unused := func() []string {
		return slices.DeleteFunc(slices.Clone(ways), func(way string) bool {
			_, ok := requested.Load(way)

			return ok
		})
	}
	begun := time.Now()
	attack(t, pool, base, func() bool { return len(unused()) == 0 || time.Since(begun) > time.Minute }, base+"/")
	if left := unused(); len(left) > 0 {
		t.Errorf("the page's own server got no request by %v, want one by each, so nothing is known about them", left)
	}
	slow := time.Since(begun) // a busy machine needs as long for the others, too

	begun = time.Now()
	attack(t, pool, base, func() bool { return time.Since(begun) > slow }, addresses...)
	refresh := `document.write('<meta http-equiv=refresh content="0;url=' + %q + '">')`
	for _, host := range []string{"127.0.0.1", "[::1]", "localhost", ip} {
		for _, script := range []string{"location = %q", "open(%q)", refresh} {
			within(t, pool, base, fmt.Sprintf(script, "http://"+host+":"+everywhere+"/"), 100*time.Millisecond)
		}
	}
	all.empty(t)
}

// serveHostile serves the hostile page and the redirects that it uses. It passes other requests to seen.
func serveHostile(t *testing.T, seen func(*http.Request)) (base string) {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, hostile)
	})
	mux.HandleFunc("/redirect", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.FormValue("to"), http.StatusFound)
	})
	mux.HandleFunc("/worker.js", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		_, _ = fmt.Fprintf(w, "importScripts(%q)", r.FormValue("to"))
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		seen(r)
		w.WriteHeader(http.StatusNoContent)
	})
	server, base, err := Serve(mux)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })

	return base
}

// attack opens the hostile page and lets it request addresses in all ways, for a while and until enough is true.
func attack(t *testing.T, pool *Pool, base string, enough func() bool, addresses ...string) {
	t.Helper()
	list, err := json.Marshal(addresses)
	if err != nil {
		t.Fatal(err)
	}
	within(t, pool, base, fmt.Sprintf("(async () => { for (const a of %s) await attack(a) })()", list),
		time.Second+time.Duration(len(addresses))*100*time.Millisecond, enough)
}

// within opens the hostile page in a new tab, evaluates a script there and lets the page run for a while, and until all
// conditions are true.
func within(t *testing.T, pool *Pool, base, script string, d time.Duration, conditions ...func() bool) {
	t.Helper()
	tab, err := pool.browsers[0].Blank(t.Context(), View{Width: 100, Height: 100})
	if err != nil {
		t.Fatal(err)
	}
	defer tab.Close()
	if err := tab.Navigate(t.Context(), base); err != nil {
		t.Fatal(err)
	}
	err = tab.Running(t.Context(), func() error {
		err := tab.Eval(t.Context(), script+"; 0", nil)
		time.Sleep(d)
		for _, condition := range conditions {
			for err == nil && !condition() {
				time.Sleep(50 * time.Millisecond)
			}
		}

		return err
	})
	if err != nil {
		t.Fatalf("the script %s ended with %v, want no error", script, err)
	}
}

// trap is a set of listeners that record what they receive.
type trap struct {
	mu  sync.Mutex
	got map[string]int
}

func (x *trap) note(what string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.got == nil {
		x.got = map[string]int{}
	}
	x.got[what]++
}

// empty fails the test if a listener received anything.
func (x *trap) empty(t *testing.T) {
	t.Helper()
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, what := range slices.Sorted(maps.Keys(x.got)) {
		t.Errorf("a page reached %s, want nothing", what)
	}
}

// set listens on an address for connections and packets, and returns the port.
func (x *trap) set(t *testing.T, at string) (port string) {
	t.Helper()
	l, err := net.Listen("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	_, port, _ = net.SplitHostPort(l.Addr().String())
	packets, err := net.ListenPacket("udp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = packets.Close() })

	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			x.note("TCP at " + c.LocalAddr().String() + ": " + answer(c))
		}
	}()
	go func() {
		for {
			raw := make([]byte, 64)
			n, _, err := packets.ReadFrom(raw)
			if err != nil {
				return
			}
			x.note(fmt.Sprintf("UDP at %s: %x", packets.LocalAddr(), raw[:min(n, 2)]))
		}
	}()

	return port
}

// answer reads the first line that a client sends, and answers with an empty response.
func answer(c net.Conn) string {
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(time.Second))
	raw := make([]byte, 256)
	n, _ := c.Read(raw)
	_, _ = io.WriteString(c, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
	line, _, _ := strings.Cut(string(raw[:n]), "\r\n")

	return fmt.Sprintf("%.40q", line)
}
