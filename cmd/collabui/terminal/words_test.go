package terminal

import (
	"testing"
	"time"
)

func TestNumbersAgreeWithTheirNouns(t *testing.T) {
	for _, c := range []struct {
		n    int
		noun string
		want string
	}{
		{0, "finding", "0 findings"},
		{1, "finding", "1 finding"},
		{2, "finding", "2 findings"},
		{1, "trajectory", "1 trajectory"},
		{3, "trajectory", "3 trajectories"},
	} {
		if got := Count(c.n, c.noun); got != c.want {
			t.Errorf("Count(%d, %q) = %q, want %q", c.n, c.noun, got, c.want)
		}
	}
}

func TestDurationsHaveTwoUnitsAtMost(t *testing.T) {
	for given, want := range map[time.Duration]string{
		0:                                 "0 s",
		1600*time.Millisecond + 7:         "2 s",
		59*time.Second + 700_000_000:      "1 min 0 s",
		150*time.Second + 123_456_789:     "2 min 30 s",
		time.Hour + 5*time.Minute + 9e9:   "1 h 5 min",
		50*time.Hour + 59*time.Minute + 1: "2 d 2 h",
	} {
		if got := Duration(given); got != want {
			t.Errorf("Duration(%v) = %q, want %q", given, got, want)
		}
	}
	for given, want := range map[time.Duration]string{400 * time.Millisecond: "", 61e9: ", about 1 min 1 s left"} {
		if got := Left(given); got != want {
			t.Errorf("Left(%v) = %q, want %q", given, got, want)
		}
	}
}
