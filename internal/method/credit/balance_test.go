package credit

import (
	"math"
	"testing"

	"github.com/collabui/collabui/domain"
)

func TestEveryTemplateHasTheSameTotalWeight(t *testing.T) {
	mixed := []domain.Example{{Template: "a"}, {Template: "a"}, {Template: "a"}, {Template: "b"}}
	Balance(mixed, 1000)
	for _, p := range mixed {
		want := map[string]float64{"a": 2.0 / 3, "b": 2}[p.Template]
		if math.Abs(p.Weight-want) > 1e-12 {
			t.Errorf("a pair of template %s weighs %v, want %v", p.Template, p.Weight, want)
		}
	}
}

func TestASingleTemplateDoesNotLeadAnUpdate(t *testing.T) {
	pairs := make([]domain.Example, 0, 60)
	for range 59 {
		pairs = append(pairs, domain.Example{Template: "often"})
	}
	pairs = append(pairs, domain.Example{Template: "once"})

	Balance(pairs, 3)
	if ratio, want := pairs[59].Weight/pairs[0].Weight, 3/(60.0/118); math.Abs(ratio-want) > 1e-9 {
		t.Errorf("the only pair of its template weighs %v times the others, want %v", ratio, want)
	}
	if mean := total(pairs) / 60; math.Abs(mean-1) > 1e-9 {
		t.Errorf("the mean weight is %v, want 1", mean)
	}
}

func total(pairs []domain.Example) float64 {
	sum := 0.0
	for _, p := range pairs {
		sum += p.Weight
	}

	return sum
}

func TestNoActionTypeIsPreferredByItsFrequency(t *testing.T) {
	pair := func(chosen, rejected string) domain.Example {
		return domain.Example{ChosenCanonical: chosen, RejectedCanonical: rejected, Weight: 1}
	}
	var pairs []domain.Example
	for range 30 {
		pairs = append(pairs, pair("click index=1", "input_text index=2 text=a"))
	}
	for range 3 {
		pairs = append(pairs, pair("input_text index=2 text=a", "click index=1"))
	}
	pairs = append(pairs,
		pair("click index=1", "click index=2"),
		pair("click index=1", "wait")) // no pair prefers to wait

	BalanceTypes(pairs)
	there, back := total(pairs[:30]), total(pairs[30:33])
	if math.Abs(there-back) > 1e-9 || there == 0 {
		t.Errorf("pairs that prefer clicks weigh %v, those that prefer text %v; want the same", there, back)
	}
	if within := pairs[33].Weight; math.Abs(within-pairs[30].Weight) > 1e-9 {
		t.Errorf("a pair of two clicks weighs %v, want %v as one of the rarer direction", within, pairs[30].Weight)
	}
	if pairs[34].Weight != 0 {
		t.Errorf("a preference that is never reversed weighs %v, want 0", pairs[34].Weight)
	}
	if mean := total(pairs) / float64(len(pairs)); math.Abs(mean-1) > 1e-9 {
		t.Errorf("the mean weight is %v, want 1", mean)
	}

	alone := []domain.Example{pair("click index=1", "wait")}
	if BalanceTypes(alone); alone[0].Weight != 1 {
		t.Errorf("without any reversed pair a weight is %v, want 1", alone[0].Weight)
	}
}

func TestRareActionsOfDemonstrationsWeighMore(t *testing.T) {
	var pairs []domain.Example
	for i := range 16 {
		pairs = append(pairs, domain.Example{Chosen: click(i)})
	}
	pairs = append(pairs, domain.Example{Chosen: `Action: {"action_type":"scroll","direction":"down"}`})
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
