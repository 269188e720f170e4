package terminal

import (
	"strings"
	"testing"
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
