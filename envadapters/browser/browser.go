// Package browser drives a real Chromium over the DevTools protocol for the environments that are web pages. It offers
// a mobile viewport, a virtual page clock and real input events, and it replaces a browser that hangs or dies. It also
// contains the parts that suites of web pages share: the places for episodes, their bookkeeping and the page server.
//
// It links no Temporal.
package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"github.com/collabui/collabui/fault"
)

// The mobile screen, in CSS pixels.
const (
	Width  = 360
	Height = 640
)

// Limits for the start and the end of a browser.
const (
	startLimit = 20 * time.Second
	closeLimit = 3 * time.Second
)

// Browser is one Chromium process. It starts when it is first needed and restarts after it has died. It is safe for
// concurrent use.
type Browser struct {
	pages  string // the base URL of the page server; if empty, pages reach no server
	mu     sync.Mutex
	ctx    context.Context // the context of chromedp; nil while no process runs
	cancel context.CancelFunc
	shell  bool          // as in Tab
	draws  chan struct{} // as in Tab
	starts int
}

// Starts returns how many processes have been started so far.
func (b *Browser) Starts() int {
	b.mu.Lock()
	defer b.mu.Unlock()

	return b.starts
}

// Pid returns the process id of the running browser, or 0 while none runs. Tests kill it.
func (b *Browser) Pid() int {
	b.mu.Lock()
	defer b.mu.Unlock()

	if b.ctx == nil {
		return 0
	}

	return chromedp.FromContext(b.ctx).Browser.Process().Pid
}

// Tab opens a page and waits for the promise that ready evaluates to, such as document.fonts.ready. Then it stops the
// page's clock. The context bounds the opening only.
func (b *Browser) Tab(ctx context.Context, url, ready string) (*Tab, error) {
	return b.tab(ctx, func(tab *Tab) error { return tab.open(ctx, url, ready) })
}

// View specifies how a tab shows its pages.
type View struct {
	// Width and Height are the size of the viewport in CSS pixels.
	Width, Height int64
}

// Blank opens an empty tab for Navigate. Its clock is stopped from the beginning. The context bounds the opening only.
func (b *Browser) Blank(ctx context.Context, view View) (*Tab, error) {
	return b.tab(ctx, func(tab *Tab) error { return tab.blank(ctx, view) })
}

func (b *Browser) tab(ctx context.Context, open func(*Tab) error) (*Tab, error) {
	b.mu.Lock()
	defer b.mu.Unlock()

	if err := b.ensure(ctx); err != nil {
		return nil, err
	}

	t := &Tab{
		kill:    b.killer(),
		dead:    chromedp.FromContext(b.ctx).Browser.LostConnection,
		crashed: make(chan struct{}),
		expired: make(chan struct{}, 1),
		shell:   b.shell,
		draws:   b.draws,
	}
	id, err := b.target(ctx)
	if err != nil {
		if ctx.Err() == nil { // the caller did not give up
			b.stop()
		}
		return nil, fault.New(fault.Void, "open a browser tab: %w", err)
	}
	t.ctx, t.cancel = chromedp.NewContext(b.ctx, chromedp.WithTargetID(id))

	if err := open(t); err != nil {
		t.Close()
		if ctx.Err() == nil {
			b.stop() // a browser that cannot open a page is useless
		} else {
			b.drop(id)
		}
		return nil, fault.New(fault.Void, "open a browser tab: %w", err)
	}

	return t, nil
}

// drop closes a page that chromedp may not have attached to yet.
func (b *Browser) drop(id target.ID) {
	_ = bounded(context.Background(), b.ctx, callLimit, func(ctx context.Context) error {
		_, err := chromedp.CallBrowser(ctx, target.CloseTarget, target.CloseTargetParams{TargetID: id})

		return err
	})
}

// target creates a page.
func (b *Browser) target(ctx context.Context) (id target.ID, err error) {
	err = bounded(ctx, b.ctx, callLimit, func(c context.Context) error {
		params := target.CreateTargetParams{URL: "about:blank", EnableBeginFrameControl: &b.shell}
		result, err := chromedp.CallBrowser(c, target.CreateTarget, params)
		id = result.TargetID

		return err
	})

	return id, err
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
	who, err := accountOf()
	if err != nil {
		return err
	}
	proxy, closeProxy, err := serveProxy(os.Getenv(EnvHosts))
	if err != nil {
		return err
	}
	profile, err := who.profile()
	if err != nil {
		closeProxy()
		return err
	}
	execAllocatorOptions := options(path, profile, who, b.pages, proxy)
	alloc, cancelAlloc := chromedp.NewExecAllocator(context.Background(), execAllocatorOptions...)
	on, cancelBrowser := chromedp.NewContext(alloc)
	cancel := func() {
		cancelBrowser()
		cancelAlloc()
		closeProxy()
		_ = os.RemoveAll(profile)
	}
	b.starts++

	if err := create(ctx, on, startLimit); err != nil {
		go cancel()
		return fault.New(fault.Transient, "start %s: %w", path, err)
	}

	b.ctx = on
	b.cancel = cancel
	b.shell = isShell(path)
	b.draws = make(chan struct{}, 1)

	return nil
}

// create starts the browser or the page of the chromedp context on. The context that creates one owns it, so it must
// not have a deadline: limit and the caller's context bound the wait only.
func create(caller, on context.Context, limit time.Duration) error {
	started := make(chan error, 1)
	go func() { started <- chromedp.Do(on) }()

	select {
	case err := <-started:
		return err
	case <-time.After(limit):
		return fmt.Errorf("no answer within %v", limit)
	case <-caller.Done():
		return context.Cause(caller)
	}
}

// killer returns a function that kills the process that runs now, but not a later one. Callers hold mu.
func (b *Browser) killer() func() {
	starts := b.starts

	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()

		if b.starts == starts {
			b.stop()
		}
	}
}

// stop kills the process. Callers hold mu.
func (b *Browser) stop() {
	if b.ctx == nil {
		return
	}

	if process := chromedp.FromContext(b.ctx).Browser.Process(); process != nil {
		_ = syscall.Kill(-process.Pid, syscall.SIGKILL) // the whole group, because the program may be a wrapper
	}

	go b.cancel() // it may wait for answers that a dead browser never sends
	b.ctx = nil
	b.cancel = nil
}

// Close ends the process and waits for it, so its profile folder is removed.
func (b *Browser) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()

	if b.ctx == nil {
		return
	}

	done := make(chan struct{})
	go func(cancel func()) { cancel(); close(done) }(b.cancel)

	select {
	case <-done:
	case <-time.After(closeLimit):
		b.stop()
	}

	b.ctx = nil
	b.cancel = nil
}

// bounded runs f on a chromedp context with a deadline and the caller's cancellation.
func bounded(caller, on context.Context, duration time.Duration, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(on, duration)
	defer cancel()
	defer context.AfterFunc(caller, cancel)()

	err := f(ctx)
	if err != nil && caller.Err() != nil {
		return context.Cause(caller)
	}

	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("no answer within %v", duration)
	}

	return err
}

// crashedOn calls f when the page's process dies.
func crashedOn(ev any, f func()) {
	if _, ok := ev.(*inspector.EventTargetCrashed); ok {
		f()
	}
}
