package autowebbench

import (
	"maps"
	"math"
	"testing"

	"github.com/collabui/collabui/domain"
)

func TestStepsAreScoredByThreeRules(t *testing.T) {
	typed := func(element, text string, enter bool) domain.Action {
		return domain.Action{
			Family:     domain.FamilyWeb,
			Type:       domain.ActionTypeString,
			Element:    element,
			Text:       text,
			PressEnter: enter,
		}
	}
	finish := func(answer string) domain.Action {
		return domain.Action{Family: domain.FamilyWeb, Type: domain.ActionFinish, Answer: answer}
	}
	gold := typed("D", "green tea please", true)

	for name, test := range map[string]struct {
		action, gold domain.Action
		want         map[string]float64
	}{
		"equal": {gold, gold, map[string]float64{
			"step_sr": 1, "strict": 1, "awg-all": 1, "awg-type": 1, "awg-label": 1, "awg-param-rouge": 1,
		}},
		"other text": {typed("D", "Tea, green", false), gold, map[string]float64{
			"step_sr": 1, "strict": 0, "awg-all": 1, "awg-type": 1, "awg-label": 1, "awg-param-rouge": 0.8,
		}},
		"other element": {typed("A", "x", false), gold, map[string]float64{
			"step_sr": 0, "strict": 0, "awg-all": 0, "awg-type": 1, "awg-label": 0, "awg-param-rouge": 0,
		}},
		"nothing parsed": {domain.Action{Family: domain.FamilyWeb, Type: domain.ActionNone}, gold, map[string]float64{
			"step_sr": 0, "strict": 0, "awg-all": 0, "awg-type": 0, "awg-label": 0, "awg-param-rouge": 0,
		}},
		"without element": {finish("x"), finish(""), map[string]float64{"step_sr": 1, "strict": 0}},
	} {
		t.Run(name, func(t *testing.T) {
			got := map[string]float64{}
			for k, m := range score(test.action, test.gold) {
				got[k] = math.Round(m.Sum*1e6) / 1e6
				if m.N != 1 {
					t.Errorf("%s counts %d records, want 1", k, m.N)
				}
			}
			if !maps.Equal(got, test.want) {
				t.Errorf("score = %v, want %v", got, test.want)
			}
		})
	}
}

func TestChineseCharactersAreTokens(t *testing.T) {
	if got, want := rouge1("绿茶和红茶", "红茶"), 4.0/7; math.Abs(got-want) > 1e-12 {
		t.Errorf("rouge1 = %v, want %v", got, want)
	}
}
