package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/collabui/collabui/fault"
)

// callLimit bounds every single call to the browser; a page that needs longer hangs.
const callLimit = 10 * time.Second

// pageEpoch is 2024-01-01T00:00:00Z: page clocks begin there, so that what a page says of time depends on its steps alone.
const pageEpoch = 1704067200

// ErrPage says that a script of the page itself failed: the same would happen again.
var ErrPage = errors.New("page error")

// Tab is one page with its own virtual clock. It is used by one goroutine at a time. After an error it is of no use: close it.
type Tab struct {
	ctx     context.Context
	cancel  context.CancelFunc
	crashed chan struct{} // closed when the page's process dies
	dead    chan struct{} // closed when the browser dies
	expired chan struct{} // one entry when a time budget is used up
}

// start creates the page and listens to it.
func (t *Tab) start(ctx context.Context) error {
	started := make(chan error, 1)
	go func() { started <- chromedp.Do(t.ctx) }() // the context that creates a target owns it, so it must carry no deadline
	select {
	case err := <-started:
		if err != nil {
			return err
		}
	case <-time.After(callLimit):
		return fmt.Errorf("no tab within %v", callLimit)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	var once sync.Once
	return chromedp.Listen(t.ctx, func(ev any) {
		crashedOn(ev, func() { once.Do(func() { close(t.crashed) }) })
		switch ev.(type) {
		case *emulation.EventVirtualTimeBudgetExpired:
			select {
			case t.expired <- struct{}{}:
			default:
			}
		case *page.EventJavascriptDialogOpening: // it would block the page, and every call to it
			go func() {
				_, _ = chromedp.Call(t.ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{})
			}()
		}
	})
}

func (t *Tab) open(ctx context.Context, url, ready string) error {
	if err := t.start(ctx); err != nil {
		return err
	}
	return t.do(ctx, "open", func(c context.Context) error {
		if err := show(c, Width, Height, true); err != nil {
			return err
		}
		if err := chromedp.Do(c, chromedp.Navigate(url)); err != nil {
			return err
		}
		r, err := chromedp.Call(c, runtime.Evaluate, runtime.EvaluateParams{Expression: ready, AwaitPromise: yes()})
		if err == nil && r.ExceptionDetails != nil {
			err = fmt.Errorf("the page is not ready: %s", r.ExceptionDetails.Text)
		}
		if err != nil {
			return err
		}
		return pause(c)
	})
}

func (t *Tab) blank(ctx context.Context, v View) error {
	if err := t.start(ctx); err != nil {
		return err
	}
	return t.do(ctx, "open", func(c context.Context) error {
		if err := show(c, v.Width, v.Height, false); err != nil {
			return err
		}
		if _, err := chromedp.Call(c, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "UTC"}); err != nil {
			return err
		}
		if v.Script != "" {
			if _, err := chromedp.Call(c, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: v.Script}); err != nil {
				return err
			}
		}
		return pause(c)
	})
}

func show(c context.Context, width, height int64, mobile bool) error {
	if _, err := chromedp.Call(c, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: 1, Mobile: mobile}); err != nil {
		return err
	}
	_, err := chromedp.Call(c, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	return err
}

func pause(c context.Context) error {
	_, err := chromedp.Call(c, emulation.SetVirtualTimePolicy, emulation.SetVirtualTimePolicyParams{Policy: emulation.VirtualTimePolicyPause, InitialVirtualTime: cdp.TimeSinceEpoch(pageEpoch)})
	return err
}

// Navigate loads another page and waits for its load event. A page cannot load while the clock stands still, so it runs meanwhile, for an unknown time; it does not
// begin anew.
func (t *Tab) Navigate(ctx context.Context, url string) error {
	return t.do(ctx, "load "+url, func(c context.Context) error {
		if _, err := chromedp.Call(c, emulation.SetVirtualTimePolicy, emulation.SetVirtualTimePolicyParams{Policy: emulation.VirtualTimePolicyAdvance}); err != nil {
			return err
		}
		if err := chromedp.Do(c, chromedp.Navigate(url)); err != nil {
			return err
		}
		return pause(c)
	})
}

// do runs calls in order; a crash or a hang ends them with a void fault.
func (t *Tab) do(ctx context.Context, what string, f func(context.Context) error) error {
	c, cancel := context.WithCancelCause(ctx)
	stop := make(chan struct{})
	defer func() { close(stop); cancel(nil) }()
	go func() {
		select {
		case <-t.crashed:
			cancel(errors.New("the page crashed"))
		case <-t.dead:
			cancel(errors.New("the browser died"))
		case <-stop:
		}
	}()
	err := bounded(c, t.ctx, callLimit, f)
	if err != nil && ctx.Err() == nil {
		return fault.New(fault.Void, "browser, %s: %w", what, err)
	}
	return err
}

func yes() *bool { b := true; return &b }

// Eval evaluates an expression, waits for it where it is a promise, which must need no timer, and decodes its value, which must be JSON, into out.
func (t *Tab) Eval(ctx context.Context, expr string, out any) error {
	return t.do(ctx, "evaluate", func(c context.Context) error {
		r, err := chromedp.Call(c, runtime.Evaluate, runtime.EvaluateParams{Expression: expr, ReturnByValue: yes(), AwaitPromise: yes()})
		if err != nil {
			return err
		}
		if ex := r.ExceptionDetails; ex != nil {
			if ex.Exception != nil {
				return fmt.Errorf("%w: %s", ErrPage, ex.Exception.Description)
			}
			return fmt.Errorf("%w: %s", ErrPage, ex.Text)
		}
		if out == nil {
			return nil
		}
		return json.Unmarshal([]byte(r.Result.Value), out)
	})
}

// Advance lets the page's clock run for d. Between calls it stands still.
func (t *Tab) Advance(ctx context.Context, d time.Duration) error {
	return t.do(ctx, "advance the clock", func(c context.Context) error {
		select {
		case <-t.expired:
		default:
		}
		budget := float64(d.Milliseconds())
		if _, err := chromedp.Call(c, emulation.SetVirtualTimePolicy, emulation.SetVirtualTimePolicyParams{Policy: emulation.VirtualTimePolicyAdvance, Budget: &budget}); err != nil {
			return err
		}
		select {
		case <-t.expired:
			return nil
		case <-c.Done():
			return c.Err()
		}
	})
}

// Of one screenshot: how long it may take, how often it is asked for, and what the page's clock runs at once meanwhile.
const (
	shotLimit = 2 * time.Second
	shotTries = 5
	frameTime = 20 * time.Millisecond
)

// Screenshot gives the screen as PNG. Nothing is drawn while the page's clock stands still, so it runs for a while.
func (t *Tab) Screenshot(ctx context.Context) ([]byte, error) {
	for try := 1; ; try++ {
		png, err := t.capture(ctx)
		if err == nil || try == shotTries || ctx.Err() != nil {
			return png, err
		}
	}
}

// capture asks once. The picture comes with the next frame; a loaded machine may miss the one that the request called for, and none follows where nothing changes: so
// the root's style is touched, without a visible effect, until the picture is there.
func (t *Tab) capture(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, shotLimit, fault.New(fault.Void, "browser, screenshot: no answer within %v", shotLimit))
	defer cancel()
	type shot struct {
		png []byte
		err error
	}
	got := make(chan shot, 1)
	go func() {
		var s shot
		s.err = t.do(ctx, "screenshot", func(c context.Context) error {
			r, err := chromedp.Call(c, page.CaptureScreenshot, page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatPng})
			s.png = r.Data
			return err
		})
		got <- s
	}()
	for n := 0; ; n++ {
		touch := fmt.Sprintf("document.documentElement.style.willChange = %q", []string{"opacity", ""}[n%2])
		if err := t.Eval(ctx, touch, nil); err != nil {
			return nil, err
		}
		if err := t.Advance(ctx, frameTime); err != nil {
			return nil, err
		}
		select {
		case s := <-got:
			return s.png, errors.Join(s.err, t.Eval(ctx, "document.documentElement.style.willChange = ''", nil))
		default:
		}
	}
}

// Close closes the page.
func (t *Tab) Close() { go t.cancel() }
