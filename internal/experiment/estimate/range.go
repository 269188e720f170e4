package estimate

import (
	"math"

	"github.com/collabui/collabui/internal/method/stats"
)

// Sample is what was measured, one value per unit.
type Sample []float64

// studentT is Student's t for the few units of a pilot, at 95 %.
const studentT = 2.4

// mean returns the mean and the half width of its interval at 95 %, relative to the mean. A single value says nothing
// about its spread: its interval is ±100 %.
func (s Sample) mean() (mean, rel float64) {
	mean = stats.Mean(s)
	switch {
	case mean == 0:
		return 0, 0
	case len(s) == 1:
		return mean, 1
	}

	return mean, studentT * stats.StandardError(s) / mean
}

// Range is an estimate with its bounds.
type Range struct {
	Low  float64 `json:"low"`
	Mid  float64 `json:"mid"`
	High float64 `json:"high"`
}

// Times returns the range of n times as much.
func (r Range) Times(n int) Range { return r.by(float64(n)) }

// by returns the range times x.
func (r Range) by(x float64) Range { return Range{Low: r.Low * x, Mid: r.Mid * x, High: r.High * x} }

// Plus adds ranges whose errors go together.
func (r Range) Plus(o Range) Range {
	return Range{Low: r.Low + o.Low, Mid: r.Mid + o.Mid, High: r.High + o.High}
}

// times multiplies by the mean of a sample, whose interval widens the range.
func (r Range) times(s Sample) Range {
	mean, rel := s.mean()
	f := around(mean, rel)

	return Range{Low: r.Low * f.Low, Mid: r.Mid * f.Mid, High: r.High * f.High}
}

// around returns x with a relative half width.
func around(x, rel float64) Range {
	return Range{Low: x * math.Max(0, 1-rel), Mid: x, High: x * (1 + rel)}
}

// scale returns x, times the range of the episodes' length if it grows with that.
func scale(x float64, grows bool, length Range) Range {
	if !grows {
		return around(x, 0)
	}

	return Range{Low: x * length.Low, Mid: x * length.Mid, High: x * length.High}
}

// between returns the range from the low end of one scaled figure to the high end of another. Its middle is as many
// times the one as the other is times the middle.
func between(low, high float64, grows bool, length Range) Range {
	from, to := scale(low, grows, length), scale(high, grows, length)

	return Range{Low: from.Low, Mid: math.Sqrt(from.Mid * to.Mid), High: to.High}
}
