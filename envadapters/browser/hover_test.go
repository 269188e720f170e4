package browser

import (
	"fmt"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

// TestTabsThatHoverAtOnceShareABrowser moves the mouse in several tabs. Each move requests frames, and Chromium 156
// crashes when two pages of a process draw at once.
func TestTabsThatHoverAtOnceShareABrowser(t *testing.T) {
	if _, err := Find(); err != nil {
		t.Skip(err)
	}
	for _, tabs := range []int{2, 4} {
		t.Run(fmt.Sprint(tabs, " tabs"), func(t *testing.T) {
			pool := NewPool("", 1, tabs)
			t.Cleanup(pool.Close)
			b := pool.browsers[0]
			var all errgroup.Group
			for range tabs {
				tab, err := b.Blank(t.Context(), View{Width: 200, Height: 200})
				if err != nil {
					t.Fatal(err)
				}
				defer tab.Close()
				all.Go(func() error {
					for n := range 100 {
						at := float64(n)
						if err := tab.Hover(t.Context(), at, at, 20*time.Millisecond); err != nil {
							return fmt.Errorf("move %d: %w", n, err)
						}
						if n%25 == 0 {
							if _, err := tab.Screenshot(t.Context()); err != nil {
								return fmt.Errorf("screenshot after move %d: %w", n, err)
							}
						}
					}

					return nil
				})
			}
			if err := all.Wait(); err != nil || b.Starts() != 1 {
				t.Errorf("the tabs played to %v in process %d, want no error in process 1", err, b.Starts())
			}
		})
	}
}
