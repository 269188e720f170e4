package gates_test

import (
	"math"
	"reflect"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/gates"
	"github.com/collabui/collabui/internal/method/spec"
)

func TestCanariesFollowFromTheSeed(t *testing.T) {
	var pairs []domain.Example
	for i := range 40 {
		pairs = append(pairs, domain.Example{Slot: i})
	}

	drawn := gates.CanaryPairs(8, pairs, 7)
	last := -1
	for _, pair := range drawn {
		if pair.Slot <= last {
			t.Errorf("row %d is a canary after row %d, want rows in order", pair.Slot, last)
		}
		last = pair.Slot
	}
	if len(drawn) != 8 || !reflect.DeepEqual(drawn, gates.CanaryPairs(8, pairs, 7)) {
		t.Errorf("%d canaries, want the same 8 for the same seed", len(drawn))
	}
	if reflect.DeepEqual(drawn, gates.CanaryPairs(8, pairs, 8)) {
		t.Error("two seeds draw the same canaries")
	}
	if got := len(gates.CanaryPairs(100, pairs, 7)); got != len(pairs) {
		t.Errorf("%d canaries of %d rows, want all", got, len(pairs))
	}
}

func TestAGapIsPerTokenAndAFaultAboveItsLimit(t *testing.T) {
	for _, c := range []struct {
		name        string
		all         []gates.Compared
		mean, worst float64
		wide        bool
	}{
		{"equal", []gates.Compared{{-3, -3, 3}, {-1, -1, 1}}, 0, 0, false},
		{"near", []gates.Compared{{-3, -3.003, 10}}, 0.0003, 0.0003, false},
		{"one row apart", []gates.Compared{{-3, -3, 3}, {-1, -2, 4}}, 0.125, 0.25, true},
		{"impossible for the server", []gates.Compared{{-3, math.Inf(-1), 3}}, 1e6, 1e6, true},
		{"not a number", []gates.Compared{{-3, math.NaN(), 3}}, 1e6, 1e6, true},
		{"nothing compared", nil, 0, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, _ := gates.GapOf(c.all, 1e-3)
			if math.Abs(got.Mean-c.mean) > 1e-9 || math.Abs(got.Worst-c.worst) > 1e-9 || got.Wide() != c.wide {
				t.Errorf("the gap is %+v, wide %v; want a mean of %v, a worst of %v, wide %v",
					got, got.Wide(), c.mean, c.worst, c.wide)
			}
		})
	}
}

func TestTheLimitOfAGapFollowsFromThePrecision(t *testing.T) {
	order := []domain.Precision{domain.Exact, domain.Float32, domain.Float16, domain.BFloat16}
	last := 0.0
	for _, precision := range order {
		limit := gates.GapLimit(spec.Serving{}, precision)
		if limit <= last {
			t.Errorf("the limit of %s is %v, want more than %v", precision, limit, last)
		}
		last = limit
		if got := gates.GapLimit(spec.Serving{MaxGap: 0.3}, precision); got != 0.3 {
			t.Errorf("the limit of %s is %v, want max_gap, 0.3", precision, got)
		}
	}
}
