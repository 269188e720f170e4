package webtasks

import (
	"slices"
	"testing"

	"github.com/collabui/collabui/domain"
)

// TestAWrongActionNeverSucceeds does, on the first screen of every template, things that are not right, and then
// declares the task to be complete, or to be infeasible where it can be done. No judge may find a success.
func TestAWrongActionNeverSucceeds(t *testing.T) {
	const atMost = 4 // elements of a screen that are tried
	s, e := open(t, GroupApps, GroupWidgets, GroupTwoPlaces)
	tried := 0

	// first returns what is shown on the first screen of a task, and the right actions there.
	first := func(t *testing.T, task domain.Task) (domain.Observation, []domain.Action) {
		t.Helper()

		transition, err := e.Reset(t.Context(), task)
		if err != nil {
			t.Fatal(err)
		}

		return transition.Observation, e.Right()
	}
	// fails executes the actions of one episode, and fails the test if they are a success.
	fails := func(t *testing.T, task domain.Task, actions ...domain.Action) {
		t.Helper()

		tried++
		for _, action := range actions {
			transition, err := e.Step(t.Context(), action)
			if err != nil {
				t.Fatal(err)
			}
			if transition.Terminated || transition.Truncated {
				break
			}
		}
		if score, err := e.Score(t.Context()); err != nil || score.Success {
			t.Errorf("%v is a success (%v), want a failure: none of it is right", actions, err)
		}
	}

	for _, split := range splits {
		templates, err := s.Templates(split)
		if err != nil {
			t.Fatal(err)
		}
		for _, template := range templates {
			t.Run(split+"/"+template.Name, func(t *testing.T) {
				task := domain.Task{Template: template.Name, Split: split, Seed: 1, MaxSteps: template.MaxSteps}
				screen, right := first(t, task)
				complete := domain.Action{Type: domain.ActionStatus, GoalStatus: domain.StatusComplete}
				infeasible := domain.Action{Type: domain.ActionStatus, GoalStatus: domain.StatusInfeasible}
				for _, end := range []domain.Action{complete, infeasible} {
					if !contains(right, end) {
						first(t, task)
						fails(t, task, end)
					}
				}

				elements := screen.Elements
				step := max(1, len(elements)/atMost)
				for k := 0; k < len(elements); k += step {
					wrong := domain.Action{Type: domain.ActionClick}.At(elements[k].Index)
					if elements[k].Editable {
						wrong = domain.Action{Type: domain.ActionInputText, Text: "zebra"}.At(elements[k].Index)
					}
					if !contains(right, wrong) {
						first(t, task)
						fails(t, task, wrong, complete)
					}
				}
			})
		}
	}
	t.Logf("%d wrong episodes", tried)
}

// contains reports whether an action is one of the right ones.
func contains(right []domain.Action, action domain.Action) bool {
	return slices.ContainsFunc(right, func(r domain.Action) bool { return r.JSON() == action.JSON() })
}
