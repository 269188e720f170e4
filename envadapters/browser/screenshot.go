package browser

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chromedp/cdproto/headlessexperimental"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/collabui/collabui/fault"
)

const (
	shotLimit = 5 * time.Second       // how long a screenshot may take
	frameTime = 20 * time.Millisecond // how far the page's clock runs between looks for the answer
	frameWait = 3 * time.Millisecond  // how long a look lasts; with 10 ms or more the browser may stop drawing
)

// ShotTime is how far a screenshot advances the page's clock. It is always the same, unless the machine is so loaded
// that the picture takes longer.
const ShotTime = 25 * frameTime

// errNoShot means that the browser took no screenshot in time.
var errNoShot = fault.New(fault.Void, "browser, screenshot: no answer within %v", shotLimit)

// Screenshot returns the screen as PNG. The browser draws nothing while the page's clock is stopped, so the clock runs
// for ShotTime. A browser that does not draw fails in all its tabs, new ones included, so Screenshot kills it, and its
// episodes are repeated in another process.
func (t *Tab) Screenshot(ctx context.Context) ([]byte, error) {
	png, err := t.capture(ctx)
	if err != nil && ctx.Err() == nil {
		t.kill()
	}

	return png, err
}

// capture requests a picture of the next frame. A browser that does not draw on request may miss the frame, and no
// other frame follows while nothing changes, so capture makes invisible changes to the root's style until the picture
// arrives.
func (t *Tab) capture(ctx context.Context) ([]byte, error) {
	done, err := t.drawing(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	ctx, cancel := context.WithTimeoutCause(ctx, shotLimit, errNoShot)
	defer cancel()

	got := t.picture(ctx)
	for n := 1; ; n++ {
		touch := fmt.Sprintf("document.documentElement.style.willChange = %q", []string{"", "opacity"}[n%2])
		if err := t.Eval(ctx, touch, nil); err != nil {
			return nil, err
		}

		if err := t.Advance(ctx, frameTime); err != nil {
			return nil, err
		}

		select {
		case s := <-got:
			if s.err == nil && len(s.png) == 0 { // as in the first frames of a page
				got = t.picture(ctx)
				continue
			}

			err := t.Eval(ctx, "document.documentElement.style.willChange = ''", nil)
			if rest := ShotTime - time.Duration(n)*frameTime; rest > 0 {
				err = errors.Join(err, t.Advance(ctx, rest))
			}

			return s.png, errors.Join(s.err, err)
		case <-time.After(frameWait):
		}
	}
}

// drawing waits until no other page of the browser draws, because Chromium 156 crashes when two do. The caller may then
// request frames, and calls done when it needs no more. done does not wait for frames that are still unanswered; the
// next page to draw does.
func (t *Tab) drawing(ctx context.Context) (done func(), err error) {
	select {
	case t.draws <- struct{}{}:
		return func() {
			go func() {
				t.pending.Wait()
				<-t.draws
			}()
		}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

type shot struct {
	png []byte
	err error
}

// picture requests a frame and its picture, for which the page's clock has to run.
func (t *Tab) picture(ctx context.Context) <-chan shot {
	return t.ask(ctx, func(c context.Context) ([]byte, error) {
		if t.shell {
			params := headlessexperimental.BeginFrameParams{Screenshot: &headlessexperimental.ScreenshotParams{}}
			beginFrameResult, err := chromedp.Call(c, headlessexperimental.BeginFrame, params)

			return beginFrameResult.ScreenshotData, err
		}
		captureScreenshotParams := page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatPng}
		result, err := chromedp.Call(c, page.CaptureScreenshot, captureScreenshotParams)

		return result.Data, err
	})
}

// frame requests a frame for its effects, such as scroll events. The page's clock has to run meanwhile. In a browser
// that does not draw on request, frames come by themselves.
func (t *Tab) frame(ctx context.Context) <-chan shot {
	return t.ask(ctx, func(c context.Context) ([]byte, error) {
		if !t.shell {
			return nil, nil
		}
		// Chromium 156 does not always answer when it has to show such a frame.
		_, err := chromedp.Call(c, headlessexperimental.BeginFrame,
			headlessexperimental.BeginFrameParams{NoDisplayUpdates: newTrue()})

		return nil, err
	})
}

// ask calls f in the background and returns at once. The caller holds the right to draw.
func (t *Tab) ask(ctx context.Context, f func(context.Context) ([]byte, error)) <-chan shot {
	got := make(chan shot, 1)

	t.pending.Go(func() {
		var s shot
		s.err = t.do(ctx, "draw", func(c context.Context) (err error) {
			s.png, err = f(c)
			return err
		})
		got <- s
	})

	return got
}
