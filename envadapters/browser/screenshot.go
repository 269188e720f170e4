package browser

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/collabui/collabui/fault"
)

const (
	shotLimit = 2 * time.Second       // How long one request for a screenshot may take.
	shotTries = 3                     // How often a screenshot is requested.
	frameTime = 20 * time.Millisecond // How far the page's clock runs between looks for the answer.
	frameWait = 3 * time.Millisecond  // How long a look lasts. With 10 ms or more the browser may stop drawing.
)

// ShotTime is how far a screenshot lets the page's clock run: always as far, unless the machine is so loaded that the
// picture needs more frames. 6 to 15 are usual.
const ShotTime = 25 * frameTime

// errNoShot says that the browser took no screenshot in time.
var errNoShot = fault.New(fault.Void, "browser, screenshot: no answer within %v", shotLimit)

// Screenshot returns the screen as PNG. The browser draws nothing while the page's clock is stopped, so the clock runs
// for ShotTime. A browser that stops drawing does so in all its tabs, new ones included, so Screenshot ends it: its
// episodes are repeated in another process.
func (t *Tab) Screenshot(ctx context.Context) ([]byte, error) {
	for try := 1; ; try++ {
		png, err := t.capture(ctx)
		if err == nil || ctx.Err() != nil {
			return png, err
		}
		if try == shotTries {
			t.kill()

			return nil, err
		}
	}
}

// capture requests one screenshot. The picture comes with the next frame. A loaded machine may miss the frame that the
// request called for, and no other follows while nothing changes, so capture changes the style of the root, without a
// visible effect, until the picture arrives.
func (t *Tab) capture(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, shotLimit, errNoShot)
	defer cancel()

	got := t.request(ctx)
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
			err := t.Eval(ctx, "document.documentElement.style.willChange = ''", nil)
			if rest := ShotTime - time.Duration(n)*frameTime; rest > 0 {
				err = errors.Join(err, t.Advance(ctx, rest))
			}

			return s.png, errors.Join(s.err, err)
		case <-time.After(frameWait):
		}
	}
}

type shot struct {
	png []byte
	err error
}

func (t *Tab) request(ctx context.Context) <-chan shot {
	got := make(chan shot, 1)

	go func() {
		var s shot
		s.err = t.do(ctx, "screenshot", func(c context.Context) error {
			p := page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatPng}
			r, err := chromedp.Call(c, page.CaptureScreenshot, p)
			s.png = r.Data

			return err
		})
		got <- s
	}()

	return got
}
