package agents

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
)

func TestWhatLimitsCutIsCounted(t *testing.T) {
	long := strings.Repeat("word ", 30)
	view := View{Goal: strings.Repeat("goal ", 100), Observation: domain.Observation{Elements: []domain.Element{
		{Index: 0, Role: "note", Text: long + "the end", Desc: long, Visible: true},
		{Index: 1, Role: "field", Text: "Code", Editable: true, Value: long, Visible: true},
	}}}
	for i := range 14 {
		view.History = append(view.History, fmt.Sprint(i, " click"))
	}
	view.History[13] += " " + strings.Repeat(long, 2)
	own := "Reason: " + strings.Repeat(long, 5) + "\nAction: {\"action_type\":\"wait\"}"
	peers := []Message{{Agent: 1, Text: "short"}, {Agent: 2, Text: own}}

	small, left, err := Default.Fit(view, own, peers)
	if err != nil {
		t.Fatal(err)
	}
	// The goal, three texts of elements, a line of the history and two answers are too long.
	if want := (domain.LeftOut{Texts: 7, Older: 2}); !reflect.DeepEqual(left, want) || !left.Any() {
		t.Errorf("the prompt lacks %+v, want %+v", left, want)
	}
	if want := "2 history lines, 7 ends of texts"; left.String() != want {
		t.Errorf("LeftOut.String = %q, want %q", left, want)
	}
	if got := strings.Count(small, "…"); got < 5 || strings.Contains(small, "the end") {
		t.Errorf("the prompt has %d cut texts, want at least 5: %s", got, small)
	}

	large, left, err := Default.Limited(ModelLimits).Fit(view, own, peers)
	if err != nil {
		t.Fatal(err)
	}
	if left.Any() || strings.Contains(large, "…") || !strings.Contains(large, "the end") {
		t.Errorf("the prompt of a language model lacks %+v, want nothing: %s", left, large)
	}
}

func TestElementsBeyondTheirNumberAreCounted(t *testing.T) {
	view := View{Goal: "g"}
	for i := range maxElements + 3 {
		view.Observation.Elements = append(view.Observation.Elements, domain.Element{
			Index: i, Role: "item", Visible: true, Occluded: i == 0,
		})
	}
	_, left, err := Default.Fit(view, "", nil)
	if want := (domain.LeftOut{Beyond: 2}); !reflect.DeepEqual(left, want) || err != nil {
		t.Errorf("the prompt lacks %+v, %v; want %+v", left, err, want)
	}
}

func TestLinesOfTheHistoryAreWrittenWithinTheLimits(t *testing.T) {
	text := strings.Repeat("word ", 50) + "end"
	typed := domain.Action{Type: domain.ActionInputText, Text: text}.At(0)
	o := domain.Observation{Elements: []domain.Element{{Index: 0, Role: "field", Text: "Code", Visible: true}}}
	if got, want := ModelLimits.Summarise(2, typed, o, ""), "2 input_text field Code "+text; got != want {
		t.Errorf("Summarise = %q, want %q", got, want)
	}
	if got := Summarise(2, typed, o, ""); strings.HasSuffix(got, "end") {
		t.Errorf("Summarise = %q within the limits of the embedded policy, want a cut text", got)
	}
}
