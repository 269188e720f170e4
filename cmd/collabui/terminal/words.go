package terminal

import (
	"fmt"
	"strings"
	"time"
)

// Count returns a number with its noun, in the plural unless the number is 1. Nouns that end with a consonant and y get
// the ending ies.
func Count(n int, noun string) string {
	if n != 1 {
		stem, ends := strings.CutSuffix(noun, "y")
		if ends {
			noun = stem + "ie"
		}
		noun += "s"
	}

	return fmt.Sprint(n, " ", noun)
}

// Duration returns a duration for people, in its two largest units down to seconds.
func Duration(d time.Duration) string {
	const day = 24 * time.Hour
	d = d.Round(time.Second)
	switch {
	case d >= day:
		return fmt.Sprintf("%d d %d h", d/day, d%day/time.Hour)
	case d >= time.Hour:
		return fmt.Sprintf("%d h %d min", d/time.Hour, d%time.Hour/time.Minute)
	case d >= time.Minute:
		return fmt.Sprintf("%d min %d s", d/time.Minute, d%time.Minute/time.Second)
	}

	return fmt.Sprintf("%d s", d/time.Second)
}

// Left returns about how much time is left, to be appended to a line about progress, or "" if that is less than a
// second.
func Left(d time.Duration) string {
	if d < time.Second {
		return ""
	}

	return ", about " + Duration(d) + " left"
}
