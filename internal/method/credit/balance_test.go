package credit

import (
	"math"
	"testing"

	"github.com/collabui/collabui/domain"
)

func TestEveryTemplateHasTheSameTotalWeight(t *testing.T) {
	mixed := []domain.Pair{{Template: "a"}, {Template: "a"}, {Template: "a"}, {Template: "b"}}
	Balance(mixed)
	for _, p := range mixed {
		want := map[string]float64{"a": 2.0 / 3, "b": 2}[p.Template]
		if math.Abs(p.Weight-want) > 1e-12 {
			t.Errorf("a pair of template %s weighs %v, want %v", p.Template, p.Weight, want)
		}
	}
}

func TestRareActionsOfDemonstrationsWeighMore(t *testing.T) {
	var pairs []domain.Pair
	for i := range 16 {
		pairs = append(pairs, domain.Pair{Chosen: click(i)})
	}
	pairs = append(pairs, domain.Pair{Chosen: `Action: {"action_type":"scroll","direction":"down"}`})
	BalanceActions(pairs)

	var sum, clicks float64
	for i, p := range pairs {
		sum += p.Weight
		if i < 16 {
			clicks += p.Weight
		}
	}
	if math.Abs(sum-17) > 1e-9 {
		t.Errorf("the total is %v, want 17", sum)
	}
	if ratio := clicks / pairs[16].Weight; math.Abs(ratio-4) > 1e-9 {
		t.Errorf("clicks weigh %v times as much as the scroll, want 4", ratio)
	}
}
