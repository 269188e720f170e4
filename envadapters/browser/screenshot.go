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
	shotLimit = 5 * time.Second       // How long a screenshot may take.
	frameTime = 20 * time.Millisecond // How far the page's clock runs between looks for the answer.
	frameWait = 3 * time.Millisecond  // How long a look lasts. With 10 ms or more the browser may stop drawing.
)

// ShotTime is how far a screenshot lets the page's clock run: always as far, unless the machine is so loaded that the
// picture needs more.
const ShotTime = 25 * frameTime

// errNoShot says that the browser took no screenshot in time.
var errNoShot = fault.New(fault.Void, "browser, screenshot: no answer within %v", shotLimit)

// Screenshot returns the screen as PNG. The browser draws nothing while the page's clock is stopped, so the clock runs
// for ShotTime. A browser that does not draw does so in all its tabs, new ones included, so Screenshot ends it: its
// episodes are repeated in another process.
func (t *Tab) Screenshot(ctx context.Context) ([]byte, error) {
	png, err := t.capture(ctx)
	if err != nil && ctx.Err() == nil {
		t.kill()
	}

	return png, err
}

// capture requests a picture of the next frame. A browser that does not draw on request may miss the frame, and no
// other follows while nothing changes, so capture changes the style of the root, without a visible effect, until the
// picture arrives.
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

// drawing waits until no other page of the browser draws: Chromium 156 ends when two do. The caller may then ask for
// frames, and calls done, which does not wait for those that have not been answered; the other pages do.
func (t *Tab) drawing(ctx context.Context) (done func(), err error) {
	select {
	case t.draws <- struct{}{}:
		return func() {
			go func() {
				t.asked.Wait()
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

// frame requests the effects of a frame, such as events of scrolling, for which the page's clock has to run. Frames of
// a browser that does not draw on request come by themselves.
func (t *Tab) frame(ctx context.Context) <-chan shot {
	return t.ask(ctx, func(c context.Context) ([]byte, error) {
		if !t.shell {
			return nil, nil
		}
		// Chromium 156 does not always answer when it has to show such a frame.
		_, err := chromedp.Call(c, headlessexperimental.BeginFrame,
			headlessexperimental.BeginFrameParams{NoDisplayUpdates: yes()})

		return nil, err
	})
}

// ask calls f and returns at once. The caller is drawing.
func (t *Tab) ask(ctx context.Context, f func(context.Context) ([]byte, error)) <-chan shot {
	got := make(chan shot, 1)

	t.asked.Go(func() {
		var s shot
		s.err = t.do(ctx, "draw", func(c context.Context) (err error) {
			s.png, err = f(c)
			return err
		})
		got <- s
	})

	return got
}
