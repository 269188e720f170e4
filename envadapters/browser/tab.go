package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/css"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/collabui/collabui/fault"
)

// callLimit bounds every single call to the browser. A page that takes longer is considered hung.
const callLimit = 10 * time.Second

// pageEpoch is 2024-01-01T00:00:00Z in Unix seconds. The clocks of pages start there, so that the times a page shows
// depend on its steps alone.
const pageEpoch = 1704067200

// ErrPage is in the chain of an error that a script of the page itself threw, and would throw again.
var ErrPage = errors.New("page error")

// Tab is one page with its own virtual clock. One goroutine uses it at a time. After an error it is unusable and must
// be closed.
type Tab struct {
	ctx     context.Context
	cancel  context.CancelFunc
	kill    func()         // ends the browser
	crashed chan struct{}  // closed when the page's process dies
	dead    chan struct{}  // closed when the browser dies
	expired chan struct{}  // holds one entry when a time budget is used up
	shell   bool           // the browser draws on request
	draws   chan struct{}  // holds one entry while a page of the browser draws
	pending sync.WaitGroup // counts the frames that were requested and not answered yet
}

// unused turns off what chromedp turns on and no suite needs: descriptions of every request and of every element that a
// page changes.
var unused = []cdp.Command[cdp.Empty, cdp.Empty]{
	css.Disable, dom.Disable, log.Disable, network.Disable, runtime.Disable,
}

// start creates the page and listens to its events.
func (t *Tab) start(ctx context.Context) error {
	if err := create(ctx, t.ctx, callLimit); err != nil {
		return err
	}

	err := t.do(ctx, "open", func(c context.Context) error {
		for _, off := range unused {
			if _, err := chromedp.Call(c, off, cdp.Empty{}); err != nil {
				return err
			}
		}

		return nil
	})
	if err != nil {
		return err
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
		case *page.EventJavascriptDialogOpening: // a dialog blocks the page and every call to it
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

		evaluateParams := runtime.EvaluateParams{Expression: ready, AwaitPromise: newTrue()}
		evaluateResult, err := chromedp.Call(c, runtime.Evaluate, evaluateParams)
		if err != nil {
			return err
		}

		if evaluateResult.ExceptionDetails != nil {
			return fmt.Errorf("the page is not ready: %s", evaluateResult.ExceptionDetails.Text)
		}

		return setClock(c, stopped())
	})
}

func (t *Tab) blank(ctx context.Context, view View) error {
	if err := t.start(ctx); err != nil {
		return err
	}

	return t.do(ctx, "open", func(c context.Context) error {
		if err := show(c, view.Width, view.Height, false); err != nil {
			return err
		}

		zone := emulation.SetTimezoneOverrideParams{TimezoneID: "UTC"}
		if _, err := chromedp.Call(c, emulation.SetTimezoneOverride, zone); err != nil {
			return err
		}

		return setClock(c, stopped())
	})
}

func show(ctx context.Context, width, height int64, mobile bool) error {
	metrics := emulation.SetDeviceMetricsOverrideParams{
		Width:             width,
		Height:            height,
		DeviceScaleFactor: 1,
		Mobile:            mobile,
	}
	if _, err := chromedp.Call(ctx, emulation.SetDeviceMetricsOverride, metrics); err != nil {
		return err
	}

	focus := emulation.SetFocusEmulationEnabledParams{Enabled: true}
	_, err := chromedp.Call(ctx, emulation.SetFocusEmulationEnabled, focus)

	return err
}

// stopped returns the policy of a stopped clock.
func stopped() emulation.SetVirtualTimePolicyParams {
	return emulation.SetVirtualTimePolicyParams{
		Policy:             emulation.VirtualTimePolicyPause,
		InitialVirtualTime: cdp.TimeSinceEpoch(pageEpoch),
	}
}

func setClock(ctx context.Context, params emulation.SetVirtualTimePolicyParams) error {
	_, err := chromedp.Call(ctx, emulation.SetVirtualTimePolicy, params)
	return err
}

// Navigate loads another page and waits for its load event. The clock runs meanwhile.
func (t *Tab) Navigate(ctx context.Context, url string) error {
	return t.Running(ctx, func() error {
		return t.do(ctx, "load "+url, func(c context.Context) error { return chromedp.Do(c, chromedp.Navigate(url)) })
	})
}

// Running calls f while the clock runs for an unknown time, because a page cannot load while its clock is stopped. The
// clock continues from its present time.
func (t *Tab) Running(ctx context.Context, f func() error) error {
	set := func(params emulation.SetVirtualTimePolicyParams) error {
		return t.do(ctx, "set the clock", func(c context.Context) error { return setClock(c, params) })
	}

	if err := set(emulation.SetVirtualTimePolicyParams{Policy: emulation.VirtualTimePolicyAdvance}); err != nil {
		return err
	}

	if err := f(); err != nil {
		return err
	}

	return set(stopped())
}

// do runs calls in order. If the page crashes or hangs, it returns a fault of kind Void.
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

func newTrue() *bool { b := true; return &b }

// Eval evaluates an expression and, if out is not nil, decodes its JSON value into it. It waits for a promise, which
// must not need a timer.
func (t *Tab) Eval(ctx context.Context, expr string, out any) error {
	return t.do(ctx, "evaluate", func(c context.Context) error {
		evaluateParams := runtime.EvaluateParams{Expression: expr, ReturnByValue: newTrue(), AwaitPromise: newTrue()}
		evaluateResult, err := chromedp.Call(c, runtime.Evaluate, evaluateParams)
		if err != nil {
			return err
		}

		if ex := evaluateResult.ExceptionDetails; ex != nil {
			if ex.Exception != nil {
				return fmt.Errorf("%w: %s", ErrPage, ex.Exception.Description)
			}
			return fmt.Errorf("%w: %s", ErrPage, ex.Text)
		}

		if out == nil {
			return nil
		}

		return json.Unmarshal([]byte(evaluateResult.Result.Value), out)
	})
}

// Advance lets the page's clock run for duration. The clock is stopped between calls.
func (t *Tab) Advance(ctx context.Context, duration time.Duration) error {
	return t.do(ctx, "advance the clock", func(c context.Context) error {
		select {
		case <-t.expired:
		default:
		}

		budget := float64(duration.Milliseconds())
		params := emulation.SetVirtualTimePolicyParams{Policy: emulation.VirtualTimePolicyAdvance, Budget: &budget}
		if err := setClock(c, params); err != nil {
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

// Close closes the page. It does not wait for the browser.
func (t *Tab) Close() { go t.cancel() }
