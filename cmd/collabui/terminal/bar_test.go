package terminal

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestABarIsNeverLongerThanItsFrame: a tally that arrives late may count more episodes than there are.
func TestABarIsNeverLongerThanItsFrame(t *testing.T) {
	for _, c := range []struct {
		name      string
		done, all int
		full      int // blocks
	}{
		{"nothing to do", 0, 0, 0},
		{"nothing done", 0, 272, 0},
		{"half", 136, 272, 12},
		{"all", 272, 272, 24},
		{"more than all", 292, 272, 24},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := "[" + strings.Repeat("█", c.full) + strings.Repeat("·", 24-c.full) + "]"
			if got := Blocks(c.done, c.all); got != want {
				t.Errorf("blocks(%d, %d) = %s, want %s", c.done, c.all, got, want)
			}
		})
	}
}

// TestALineOfProgressHasTheElapsedTime lets time pass, which by itself is no reason for another line in a pipe.
func TestALineOfProgressHasTheElapsedTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		bar := NewBar(&out, false, "r")
		bar.Since = time.Now()
		for _, text := range []string{"stage 1", "stage 1", "[█···] 1/4", "[█···] 1/4", "[████] 4/4"} {
			time.Sleep(50 * time.Second)
			bar.Show("%s", text)
		}
		want := "stage 1 · 50 s since the start\n[█···] 1/4 · 2 min 30 s since the start\n" +
			"[████] 4/4 · 4 min 10 s since the start\n"
		if out.String() != want {
			t.Errorf("a pipe shows\n%s\nwant\n%s", out.String(), want)
		}
	})
}
