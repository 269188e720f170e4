package webtasks

import (
	"reflect"
	"testing"

	"github.com/collabui/collabui/domain"
)

func TestAStepSaysWhereItReachedTheScreen(t *testing.T) {
	e := onAPage(t)
	button := *e.Right()[0].Index
	el, _ := e.page.Element(button)
	middle := [2]int{el.Bounds[0] + (el.Bounds[2]+1)/2, el.Bounds[1] + (el.Bounds[3]+1)/2}
	for _, c := range []struct {
		name   string
		action domain.Action
		want   *domain.Touch
	}{
		{"a scroll down", domain.Action{Type: domain.ActionScroll, Direction: "down"},
			&domain.Touch{At: [2]int{180, 560}, To: &[2]int{180, 80}}},
		{"waiting", domain.Action{Type: domain.ActionWait}, nil},
		{"a click", domain.Action{Type: domain.ActionClick}.At(button), &domain.Touch{At: middle}},
	} {
		tr, err := e.Step(t.Context(), c.action)
		if err != nil || !reflect.DeepEqual(tr.Touch, c.want) {
			t.Errorf("%s reached the screen at %+v (%v), want %+v", c.name, tr.Touch, err, c.want)
		}
	}
}
