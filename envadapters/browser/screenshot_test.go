package browser

import (
	"bytes"
	"fmt"
	"net/http"
	"testing"
	"time"
)

// timed is a page that changes with every tick of a timer.
const timed = `<body style="font-size: 40px"><script>
	let ticks = 0
	setInterval(() => { document.body.innerText = ++ticks }, 50)
</script>`

// TestAScreenshotTakesTheSameTimeOfAPage takes screenshots of a page whose clock matters. Replays depend on that.
func TestAScreenshotTakesTheSameTimeOfAPage(t *testing.T) {
	if _, err := Find(); err != nil {
		t.Skip(err)
	}
	server, base, err := Serve(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, timed) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	pool := NewPool(1, 1)
	t.Cleanup(pool.Close)
	tab, err := pool.browsers[0].Blank(t.Context(), View{Width: 200, Height: 200})
	if err != nil {
		t.Fatal(err)
	}
	defer tab.Close()
	if err := tab.Navigate(t.Context(), base); err != nil {
		t.Fatal(err)
	}

	clock := func() (ms float64) {
		t.Helper()
		if err := tab.Eval(t.Context(), "Date.now()", &ms); err != nil {
			t.Fatal(err)
		}

		return ms
	}
	for n := range 10 {
		before := clock()
		png, err := tab.Screenshot(t.Context())
		if err != nil || !bytes.HasPrefix(png, []byte("\x89PNG")) {
			t.Fatalf("screenshot %d: got %.8q, %v, want a PNG", n, png, err)
		}
		if took := time.Duration(clock()-before) * time.Millisecond; took != ShotTime {
			t.Errorf("screenshot %d: the page's clock ran for %v, want %v", n, took, ShotTime)
		}
	}
}
