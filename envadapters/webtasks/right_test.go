package webtasks

import (
	"testing"

	"github.com/collabui/collabui/domain"
)

// TestRightActionsAreOnesThatAgentsCanDo types a wrong text into every field of every page. A field that should have
// stayed empty cannot be emptied, because no action types an empty text.
func TestRightActionsAreOnesThatAgentsCanDo(t *testing.T) {
	s, e := open(t)
	ts, err := s.Templates(domain.SplitTrain)
	if err != nil {
		t.Fatal(err)
	}
	typed := 0
	for _, x := range ts {
		task := domain.Task{Template: x.Name, Split: domain.SplitTrain, Seed: 1, MaxSteps: x.MaxSteps}
		tr, err := e.Reset(t.Context(), task)
		if err != nil {
			t.Fatal(err)
		}
		for _, field := range tr.Observation.Elements {
			if !field.Editable || tr.Terminated || tr.Truncated {
				continue
			}
			typed++
			wrong := domain.Action{Type: domain.ActionInputText, Text: "zebra"}.At(field.Index)
			if tr, err = e.Step(t.Context(), wrong); err != nil {
				t.Fatal(err)
			}
			for _, a := range e.Right() {
				if err := a.Validate(); err != nil {
					t.Errorf("%s: %s is right, which no agent can do: %v, want only actions that they can do",
						x.Name, a.JSON(), err)
				}
			}
		}
	}
	if typed == 0 {
		t.Error("no page has a field, want some")
	}
}
