package browser

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/collabui/collabui/fault"
)

// timed is a page that changes with every tick of a timer.
const timed = `<body style="font-size: 40px"><script>
	let ticks = 0
	setInterval(() => { document.body.innerText = ++ticks }, 50)
</script>`

// TestAScreenshotTakesTheSameTimeOfAPage takes screenshots of a page that depends on its clock. Replays need them to
// advance the clock equally.
func TestAScreenshotTakesTheSameTimeOfAPage(t *testing.T) {
	path, err := Find()
	if err != nil {
		t.Skip(err)
	}
	t.Run(filepath.Base(path), shootsAlike)
	t.Run("by its own frames", func(t *testing.T) {
		dir, err := os.MkdirTemp("", "chromium")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		other := filepath.Join(dir, "chromium")
		if err := errors.Join(os.Chmod(dir, 0o755), os.Symlink(path, other)); err != nil {
			t.Fatal(err)
		}
		t.Setenv("COLLABUI_CHROMIUM", other)
		shootsAlike(t)
	})
}

func shootsAlike(t *testing.T) {
	server, base, err := Serve(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, timed) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	pool := NewPool(base, 1, 1)
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

// TestABrowserThatStopsDrawingIsReplaced stops the process that draws a browser's pages. Their scripts continue to run.
func TestABrowserThatStopsDrawingIsReplaced(t *testing.T) {
	if _, err := Find(); err != nil {
		t.Skip(err)
	}
	pool := NewPool("", 1, 1)
	t.Cleanup(pool.Close)
	b := pool.browsers[0]
	shoot := func() error {
		e, err := pool.Episode(t.Context(), "document")
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close(t.Context())
		err = e.Prepare(func(b *Browser) (*Tab, error) {
			return b.Blank(t.Context(), View{Width: 200, Height: 200})
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = e.Screenshot(t.Context())

		return err
	}

	if err := shoot(); err != nil {
		t.Fatal(err)
	}
	painter := painterOf(t, b.Pid())
	if err := syscall.Kill(painter, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := shoot(); !errors.Is(err, errNoShot) || fault.KindOf(err) != fault.Void {
		t.Errorf("a screenshot by a browser that does not draw: got %v, want %v", err, errNoShot)
	}
	if err := shoot(); err != nil || b.Starts() != 2 {
		t.Errorf("the next screenshot: got %v in process %d, want one in process 2", err, b.Starts())
	}
}

// processes returns the folders under /proc of a browser's processes.
func processes(t *testing.T, browser int) (all []string) {
	t.Helper()
	found, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range found {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if group, err := syscall.Getpgid(pid); err == nil && group == browser {
			all = append(all, dir)
		}
	}

	return all
}

// painterOf returns the child process of a browser that draws.
func painterOf(t *testing.T, browser int) int {
	t.Helper()
	for _, dir := range processes(t, browser) {
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		if bytes.Contains(line, []byte("--type=gpu-process")) {
			pid, _ := strconv.Atoi(filepath.Base(dir))
			return pid
		}
	}
	t.Fatalf("got no process that draws for browser %d, want one", browser)

	return 0
}

func TestNoFramesAreDrawnWhileTheClockIsStopped(t *testing.T) {
	path, err := Find()
	if err != nil {
		t.Skip(err)
	}
	if !isShell(path) {
		t.Skipf("%s does not draw on request", path)
	}
	pool := NewPool("", 1, 1)
	t.Cleanup(pool.Close)
	b := pool.browsers[0]
	tab, err := b.Blank(t.Context(), View{Width: 200, Height: 200})
	if err != nil {
		t.Fatal(err)
	}
	defer tab.Close()
	if err := tab.Eval(t.Context(), "document.body.style.color = 'red'", nil); err != nil {
		t.Fatal(err)
	}

	time.Sleep(time.Second)
	before := wakeups(t, b.Pid())
	time.Sleep(time.Second)
	if got := wakeups(t, b.Pid()) - before; got > 20 {
		t.Errorf("what composes frames woke up %d times in a second, want at most 20; offers come 60 times", got)
	}
}

// wakeups returns the number of times that the threads that compose a browser's pages have waited.
func wakeups(t *testing.T, browser int) (all int) {
	t.Helper()
	threads := 0
	for _, dir := range processes(t, browser) {
		names, _ := filepath.Glob(filepath.Join(dir, "task/*/comm"))
		for _, path := range names {
			if name, _ := os.ReadFile(path); strings.TrimSpace(string(name)) != "Compositor" {
				continue
			}
			status, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "status"))
			_, rest, _ := strings.Cut(string(status), "\nvoluntary_ctxt_switches:")
			line, _, _ := strings.Cut(rest, "\n")
			n, err := strconv.Atoi(strings.TrimSpace(line))
			if err != nil {
				t.Fatal(err)
			}
			all += n
			threads++
		}
	}
	if threads == 0 {
		t.Fatal("got no thread that composes pages, want one per page")
	}

	return all
}
