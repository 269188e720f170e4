//go:build integration

// Package bench prints ratios measured side by side in one run: medians of alternating runs, because the speed of a
// machine drifts.
package bench

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// pairs is the number of alternating runs.
const pairs = 5

// sideBySide runs a and b in turn and returns the medians of their figures and of the ratio a/b of each pair.
func sideBySide(a, b func() float64) (ma, mb, ratio float64) {
	var xs, ys, rs []float64
	for range pairs {
		x, y := a(), b()
		xs, ys, rs = append(xs, x), append(ys, y), append(rs, x/y)
	}

	return median(xs), median(ys), median(rs)
}

func median(x []float64) float64 {
	x = slices.Clone(x)
	slices.Sort(x)

	return x[len(x)/2]
}

func seconds(f func()) float64 {
	t := time.Now()
	f()

	return time.Since(t).Seconds()
}

// line prints a figure beside its target.
func line(b testing.TB, what string, value float64, target string, ok bool) {
	b.Helper()
	verdict := "holds"
	if !ok {
		verdict = "FAILS"
	}
	fmt.Printf("%-86s %8.3f   asked: %-14s %s\n", what, value, target, verdict)
}

// note prints a figure that has no target.
func note(what, format string, args ...any) {
	fmt.Printf("%-86s %s\n", what, fmt.Sprintf(format, args...))
}
