package browser

import (
	"context"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// mouse sends an event of the mouse at a point, in CSS pixels.
func (t *Tab) mouse(ctx context.Context, x, y float64, params input.DispatchMouseEventParams) error {
	params.X = x
	params.Y = y

	return t.do(ctx, "mouse", func(c context.Context) error {
		_, err := chromedp.Call(c, input.DispatchMouseEvent, params)
		return err
	})
}

// Press presses and releases the main button at a point, in CSS pixels. clicks is 1, or 2 for the second press of a
// double tap. hold is page time.
func (t *Tab) Press(ctx context.Context, x, y float64, clicks int64, hold time.Duration) error {
	if err := t.Down(ctx, x, y, clicks); err != nil {
		return err
	}

	if hold > 0 {
		if err := t.Advance(ctx, hold); err != nil {
			return err
		}
	}

	return t.Up(ctx, x, y, clicks)
}

// Down presses the main button at a point. clicks is as for Press.
func (t *Tab) Down(ctx context.Context, x, y float64, clicks int64) error {
	return t.mouse(ctx, x, y, input.DispatchMouseEventParams{
		Type:       input.DispatchMouseEventTypeMousePressed,
		Button:     input.MouseButtonLeft,
		Buttons:    1,
		ClickCount: clicks,
	})
}

// Up releases the main button at a point. clicks is as for Press.
func (t *Tab) Up(ctx context.Context, x, y float64, clicks int64) error {
	return t.mouse(ctx, x, y, input.DispatchMouseEventParams{
		Type:       input.DispatchMouseEventTypeMouseReleased,
		Button:     input.MouseButtonLeft,
		ClickCount: clicks,
	})
}

// Swipe presses at one point and releases at another, as a finger does. It sends no moves in between, because they
// would wait for frames, which are not drawn while the clock is stopped.
func (t *Tab) Swipe(ctx context.Context, x0, y0, x1, y1 float64) error {
	if err := t.Down(ctx, x0, y0, 1); err != nil {
		return err
	}

	return t.Up(ctx, x1, y1, 1)
}

// hoverPause is how long Hover waits for an answer before it lets the clock run again.
const hoverPause = 5 * time.Millisecond

// Hover moves the mouse to a point and lets the clock run for at least duration. A move takes effect with the next
// frame, and no frames are drawn while the clock is stopped.
func (t *Tab) Hover(ctx context.Context, x, y float64, duration time.Duration) error {
	done, err := t.drawing(ctx)
	if err != nil {
		return err
	}
	defer done()

	moved := make(chan error, 1)
	go func() {
		moved <- t.mouse(ctx, x, y, input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMouseMoved})
	}()

	drawn := t.frame(ctx)
	for arrived := false; !arrived || drawn != nil; {
		if drawn == nil {
			drawn = t.frame(ctx)
		}
		if err := t.Advance(ctx, duration); err != nil {
			return err
		}

		select {
		case err := <-moved:
			if err != nil {
				return err
			}
			arrived = true
		case s := <-drawn:
			if s.err != nil {
				return s.err
			}
			drawn = nil
		case <-time.After(hoverPause):
		}
	}

	return nil
}

// Insert types text into the focused element, as an input method does.
func (t *Tab) Insert(ctx context.Context, text string) error {
	return t.do(ctx, "type", func(c context.Context) error {
		_, err := chromedp.Call(c, input.InsertText, input.InsertTextParams{Text: text})
		return err
	})
}

// Type types text key by key. A line break presses Enter.
func (t *Tab) Type(ctx context.Context, text string) error {
	for _, r := range text {
		params := input.DispatchKeyEventParams{Key: string(r), Text: string(r), WindowsVirtualKeyCode: keyCode(r)}
		if r == '\n' {
			params = enter
		}

		if err := t.key(ctx, params); err != nil {
			return err
		}
	}

	return nil
}

// keyCode returns the Windows key code of an ASCII letter, a digit or a space, and 0 for everything else.
func keyCode(r rune) int64 {
	switch {
	case r >= 'a' && r <= 'z':
		return int64(r - 'a' + 'A')
	case r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == ' ':
		return int64(r)
	}

	return 0
}

var enter = input.DispatchKeyEventParams{Key: "Enter", Code: "Enter", Text: "\r", WindowsVirtualKeyCode: 13}

// Enter presses and releases the Enter key.
func (t *Tab) Enter(ctx context.Context) error { return t.key(ctx, enter) }

// key presses and releases a key.
func (t *Tab) key(ctx context.Context, params input.DispatchKeyEventParams) error {
	return t.do(ctx, "key "+params.Key, func(c context.Context) error {
		params.Type = input.DispatchKeyEventTypeKeyDown
		if _, err := chromedp.Call(c, input.DispatchKeyEvent, params); err != nil {
			return err
		}

		params.Type = input.DispatchKeyEventTypeKeyUp
		params.Text = ""
		_, err := chromedp.Call(c, input.DispatchKeyEvent, params)

		return err
	})
}
