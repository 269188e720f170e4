package view_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/collabui/collabui/internal/httpd"
)

// TestALinkOfTheViewerOpensTheTemporalUI covers the links of the viewer, which is another service of this machine.
// Links of other pages open nothing, and a frame shows nothing.
func TestALinkOfTheViewerOpensTheTemporalUI(t *testing.T) {
	viewer := httptest.NewServer(nil)
	t.Cleanup(viewer.Close)
	requests := make(chan string, 10)
	ui := httptest.NewServer(httpd.Guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/favicon.ico" {
			requests <- r.URL.Path
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<title>opened</title>")
	}), viewer.URL))
	t.Cleanup(ui.Close)
	page := func(header, body string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.Header().Set("Referrer-Policy", header)
			_, _ = io.WriteString(w, "<title>first</title>"+body)
		})
	}
	link := `<a id=a referrerpolicy=origin href="` + ui.URL + `/workflows/x">in the Temporal UI</a>`

	x := newTab(t)
	viewer.Config.Handler = page("no-referrer", link)
	x.open(viewer.URL, "document.title === 'first'")
	x.eval("document.getElementById('a').click()")
	x.wait("document.title === 'opened'")
	if got := <-requests; got != "/workflows/x" {
		t.Errorf("the link opened %s, want /workflows/x", got)
	}

	for name, body := range map[string]string{
		"a frame":               `<iframe referrerpolicy=origin src="` + ui.URL + `/frame"></iframe>`,
		"a link without origin": `<a id=a href="` + ui.URL + `/x">x</a><script>a.click()</script>`,
	} {
		viewer.Config.Handler = page("no-referrer", body)
		newTab(t).open(viewer.URL, "true")
		select {
		case got := <-requests:
			t.Errorf("%s opened %s, want nothing", name, got)
		case <-time.After(500 * time.Millisecond):
		}
	}
}
