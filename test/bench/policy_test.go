//go:build integration

package bench

import (
	"testing"

	"github.com/collabui/collabui/internal/policy/tinylm"
)

// BenchmarkSmallPolicy measures training and sampling as a share of the peak of a fused-multiply-add loop.
func BenchmarkSmallPolicy(b *testing.B) {
	if tinylm.Kernel() == "portable" {
		b.Skip("the portable kernel has no peak to compare with: this processor lacks AVX2 and FMA")
	}
	m := tinylm.NewMeasure()
	train := func() float64 { return m.Train() }

	got, top, share := sideBySide(train, m.Peak)
	note("training: tokens/s of prompts, one thread",
		"%.0f (%.1f of %.1f GFLOP/s)", m.TrainTokens(got), got, top)
	line(b, "training, share of the peak of multiply-adds of 8 lanes on one core", share, ">= 0.45", share >= 0.45)

	got, _, share = sideBySide(m.Sample, m.Peak)
	note("sampling: tokens/s of prompts and answers, one thread",
		"%.0f (%.1f GFLOP/s)", m.SampleTokens(got), got)
	line(b, "sampling, share of the same peak", share, ">= 0.45", share >= 0.45)
}
