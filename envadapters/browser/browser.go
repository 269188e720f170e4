// Package browser drives real Chromium over the DevTools protocol for the environments that are web pages: mobile viewport, virtual page clock, real
// input events. A browser that hangs or dies is noticed and replaced. It knows no environment and no task.
package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/chromedp"

	"github.com/collabui/collabui/fault"
)

// The mobile screen, in CSS pixels.
const (
	Width  = 360
	Height = 640
)

// names are tried in order; Debian's programs in /usr/bin are shell wrappers that stay around, so those behind them come first.
var names = []string{"/usr/lib/chromium/chromium-headless-shell", "chromium-headless-shell", "/usr/lib/chromium/chromium", "chromium", "google-chrome", "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"}

// Find gives the path of a usable Chromium; COLLABUI_CHROMIUM overrides the search.
func Find() (string, error) {
	if p := os.Getenv("COLLABUI_CHROMIUM"); p != "" {
		if _, err := exec.LookPath(p); err != nil {
			return "", fault.New(fault.Invalid, "COLLABUI_CHROMIUM names %q, which cannot be run: %w", p, err)
		}
		return p, nil
	}
	for _, n := range names {
		if p, err := exec.LookPath(n); err == nil {
			return p, nil
		}
	}
	return "", fault.New(fault.Invalid, "no Chromium found: install it (Debian: apt-get install chromium-headless-shell) or set COLLABUI_CHROMIUM to its path")
}

// Browser is one Chromium process, started when first needed and again after it died. Safe for concurrent use.
type Browser struct {
	mu     sync.Mutex
	ctx    context.Context // of chromedp; nil when no process runs
	cancel context.CancelFunc
	starts int
}

// Starts counts the processes started so far.
func (b *Browser) Starts() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.starts
}

// Pid is the process id of the running browser, 0 when none runs. Tests kill it.
func (b *Browser) Pid() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ctx == nil {
		return 0
	}
	return chromedp.FromContext(b.ctx).Browser.Process().Pid
}

// Tab opens a page and waits for the promise that ready evaluates to, such as that of its fonts, before it stops the page's clock. The context bounds
// the opening only.
func (b *Browser) Tab(ctx context.Context, url, ready string) (*Tab, error) {
	return b.tab(ctx, func(t *Tab) error { return t.open(ctx, url, ready) })
}

// View is how a tab shows its pages.
type View struct {
	Width, Height int64  // of the viewport, in CSS pixels
	Script        string // runs in every page before the page's own scripts; empty: none
}

// Blank opens an empty tab whose clock stands still from the beginning, for Navigate. The context bounds the opening only.
func (b *Browser) Blank(ctx context.Context, v View) (*Tab, error) {
	return b.tab(ctx, func(t *Tab) error { return t.blank(ctx, v) })
}

func (b *Browser) tab(ctx context.Context, open func(*Tab) error) (*Tab, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.ensure(ctx); err != nil {
		return nil, err
	}
	t := &Tab{dead: chromedp.FromContext(b.ctx).Browser.LostConnection, crashed: make(chan struct{}), expired: make(chan struct{}, 1)}
	t.ctx, t.cancel = chromedp.NewContext(b.ctx)
	if err := open(t); err != nil {
		t.Close()
		b.stop() // a browser that cannot open a page is of no use
		return nil, fault.New(fault.Void, "open a browser tab: %w", err)
	}
	return t, nil
}

// ensure starts the process when none runs. Callers hold mu.
func (b *Browser) ensure(ctx context.Context) error {
	if b.ctx != nil {
		select {
		case <-chromedp.FromContext(b.ctx).Browser.LostConnection:
			b.stop()
		default:
			return nil
		}
	}
	path, err := Find()
	if err != nil {
		return err
	}
	alloc, cancelAlloc := chromedp.NewExecAllocator(context.Background(), options(path)...)
	on, cancelBrowser := chromedp.NewContext(alloc)
	b.starts++
	cancel := func() { cancelBrowser(); cancelAlloc() }
	started := make(chan error, 1)
	go func() { started <- chromedp.Do(on) }() // the context that starts a browser owns it, so it must carry no deadline
	select {
	case err = <-started:
	case <-time.After(20 * time.Second):
		err = errors.New("no answer within 20 s")
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		go cancel()
		return fault.New(fault.Transient, "start %s: %w", path, err)
	}
	b.ctx, b.cancel = on, cancel
	return nil
}

func options(path string) []chromedp.ExecAllocatorOption {
	o := []chromedp.ExecAllocatorOption{chromedp.ExecPath(path), chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck, chromedp.Headless, chromedp.DisableGPU,
		chromedp.WindowSize(Width, Height),
		// The browser ends when its pipe closes, so it cannot outlive this process. The default, a parent-death signal, is tied to the thread that
		// forks and would end it too early. A process group of its own keeps a ctrl-C in a terminal away from it.
		chromedp.ModifyCmdFunc(func(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} })}
	for _, f := range []string{"disable-background-networking", "disable-component-update", "disable-sync", "disable-quic", "disable-dev-shm-usage", "disable-breakpad",
		"disable-crash-reporter", "disable-extensions", "mute-audio", "hide-scrollbars", "disable-background-timer-throttling", "disable-backgrounding-occluded-windows",
		"disable-renderer-backgrounding", "disable-smooth-scrolling", "disable-hang-monitor"} {
		o = append(o, chromedp.Flag(f, true))
	}
	o = append(o, chromedp.Flag("font-render-hinting", "none"), chromedp.Flag("force-color-profile", "srgb"), chromedp.Flag("force-device-scale-factor", "1"),
		chromedp.Flag("proxy-server", "direct://"))
	if os.Geteuid() == 0 {
		o = append(o, chromedp.NoSandbox) // Chromium refuses its sandbox to root; pages here are our own
	}
	return o
}

// stop ends the process. Callers hold mu.
func (b *Browser) stop() {
	if b.ctx == nil {
		return
	}
	if p := chromedp.FromContext(b.ctx).Browser.Process(); p != nil {
		_ = syscall.Kill(-p.Pid, syscall.SIGKILL) // its whole group
	}
	go b.cancel() // may wait for answers that a dead browser never gives
	b.ctx, b.cancel = nil, nil
}

// Close ends the process and waits for it, so that its profile folder is gone.
func (b *Browser) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ctx != nil {
		done := make(chan struct{})
		go func(cancel func()) { cancel(); close(done) }(b.cancel)
		select {
		case <-done:
		case <-time.After(3 * time.Second):
			b.stop()
		}
		b.ctx, b.cancel = nil, nil
	}
}

// bounded runs f on a chromedp context with a deadline and the caller's cancellation.
func bounded(caller, on context.Context, d time.Duration, f func(context.Context) error) error {
	c, cancel := context.WithTimeout(on, d)
	defer cancel()
	defer context.AfterFunc(caller, cancel)()
	err := f(c)
	if err != nil && caller.Err() != nil {
		return context.Cause(caller)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("no answer within %v", d)
	}
	return err
}

// crashedOn calls f when the page's process dies.
func crashedOn(ev any, f func()) {
	if _, ok := ev.(*inspector.EventTargetCrashed); ok {
		f()
	}
}
