package claims

import "fmt"

// condition is what a difference must fulfil. Each is about the interval at 95 %, so that noise cannot fulfil it: an
// interval that is wider than the margin allows fails.
type condition struct {
	margin float64 // points
	needs  string
	holds  func(Claim) bool
}

// gains claims an effect of at least some points: the mean reaches them, and the whole interval is above 0.
func gains(points float64) *condition {
	return &condition{
		margin: points,
		needs:  fmt.Sprintf("gains at least %g points, lower bound above 0", points),
		holds:  func(c Claim) bool { return c.Mean >= points && c.Low > 0 },
	}
}

// notWorse claims non-inferiority: a loss of the margin or more is excluded.
func notWorse(margin float64) *condition {
	return &condition{
		margin: margin,
		needs:  fmt.Sprintf("at least as good: lower bound above −%g", margin),
		holds:  func(c Claim) bool { return c.Low > -margin },
	}
}

// equal claims equivalence: a difference of the margin or more is excluded in both directions. An interval at 95 %
// within the margins is two one-sided tests (TOST) at 2.5 % each.
func equal(margin float64) *condition {
	return &condition{
		margin: margin,
		needs:  fmt.Sprintf("equal: both bounds within ±%g", margin),
		holds:  func(c Claim) bool { return c.Low > -margin && c.High < margin },
	}
}

// noGain claims that nothing is gained: a gain of the margin or more is excluded.
func noGain(margin float64) *condition {
	return &condition{
		margin: margin,
		needs:  fmt.Sprintf("nothing is gained: upper bound below %g", margin),
		holds:  func(c Claim) bool { return c.High < margin },
	}
}
