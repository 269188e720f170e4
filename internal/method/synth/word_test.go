package synth

import (
	"testing"

	"github.com/collabui/collabui/domain"
)

func TestAPlainAnswerNamesItsElement(t *testing.T) {
	o := domain.Observation{Elements: []domain.Element{{Index: 0, Role: "link", Text: "Oslo", Visible: true}}}
	for want, a := range map[string]domain.Action{
		"Reason: click Oslo 0 link serves the goal.\nAction: {\"action_type\":\"click\",\"index\":0}": domain.Action{
			Type: domain.ActionClick,
		}.At(0),
		"Reason: wait serves the goal.\nAction: {\"action_type\":\"wait\"}": {Type: domain.ActionWait},
	} {
		if got := (Target{}).Word(a, o); got != want {
			t.Errorf("%s is worded %q, want %q", a.JSON(), got, want)
		}
	}
}
