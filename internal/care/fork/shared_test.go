package fork

import (
	"slices"
	"testing"

	"github.com/collabui/collabui/internal/method/spec"
)

// TestAForkThatLearnsFromOtherRowsMakesItsPairsAgain covers GRPO, which learns from samples, and RFT, which learns from
// answers without an alternative.
func TestAForkThatLearnsFromOtherRowsMakesItsPairsAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		credit   spec.Credit
		from, to spec.Preference
		again    bool
	}{
		"RFT under a critic":         {spec.CreditCritic, spec.PreferenceDPO, spec.PreferenceRFT, true},
		"no RFT any more":            {spec.CreditCritic, spec.PreferenceRFT, spec.PreferenceDPO, true},
		"the same":                   {spec.CreditCritic, spec.PreferenceRFT, spec.PreferenceRFT, false},
		"GRPO":                       {spec.CreditCritic, spec.PreferenceDPO, spec.PreferenceGRPO, true},
		"cloning":                    {spec.CreditOutcome, spec.PreferenceDPO, spec.PreferenceRFT, true},
		"no cloning any more":        {spec.CreditOutcome, spec.PreferenceRFT, spec.PreferenceDPO, true},
		"cloning of what has gained": {spec.CreditAdvantage, spec.PreferenceDPO, spec.PreferenceRFT, true},
	} {
		a, b := spec.Default(), spec.Default()
		a.Credit, a.Preference = c.credit, c.from
		b.Credit, b.Preference = c.credit, c.to
		keys := differing(a, b)
		if got := slices.Contains(keys, "pairs"); got != c.again {
			t.Errorf("%s: what differs is %v, want pairs among it: %v", name, keys, c.again)
		}
	}
}

// TestAForkWithOrWithoutRightAnswersMakesItsPairsAgain covers train.sft, with which right answers are rows beside
// pairs.
func TestAForkWithOrWithoutRightAnswersMakesItsPairsAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from, to float64
		again    bool
	}{{0, 1, true}, {0.5, 0, true}, {0.5, 1, false}} {
		a, b := spec.Default(), spec.Default()
		a.Train.SFT = c.from
		b.Train.SFT = c.to
		keys := differing(a, b)
		if got := slices.Contains(keys, "pairs"); got != c.again {
			t.Errorf("from %v to %v: what differs is %v, want pairs among it: %v", c.from, c.to, keys, c.again)
		}
	}
}
