package webtasks

import (
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
)

var _ envadapters.Evident = (*environment)(nil)

// panel returns the corner of the screen in which an element is: 0 to 3, or -1 for the bar, which all panels share.
func panel(observation domain.Observation, index int) int {
	const bar = 44
	bounds := observation.Elements[index].Bounds
	x := bounds[0] + bounds[2]/2
	y := bounds[1] + bounds[3]/2
	if y < bar {
		return -1
	}

	return 2*min(1, (y-bar)/((observation.Height-bar)/2)) + min(1, x/(observation.Width/2))
}

// TestNoPanelAloneShowsWhatIsRight plays tasks of two-places until the state is reached. What supports the first action
// must lie in two panels at least, unless the task cannot be done.
func TestNoPanelAloneShowsWhatIsRight(t *testing.T) {
	const seeds = 12

	_, e := open(t, GroupTwoPlaces)
	all, err := templates()
	if err != nil {
		t.Fatal(err)
	}

	impossible := 0
	for _, info := range all {
		if info.Group != GroupTwoPlaces {
			continue
		}
		for seed := range uint64(seeds) {
			task := domain.Task{Template: info.Name, Split: info.Split, Seed: seed, MaxSteps: info.Max}
			tr, err := e.Reset(t.Context(), task)
			if err != nil {
				t.Fatal(err)
			}
			if n := len(tr.Observation.Elements); n < 12 || n > 60 {
				t.Errorf("%s %d has %d elements, want 12 to 60", info.Name, seed, n)
			}
			for _, element := range tr.Observation.Elements {
				if !element.Visible || element.Occluded {
					t.Errorf("%s %d: %q cannot be seen, want all of the screen visible", info.Name, seed, element.Text)
				}
			}

			if e.page.Impossible {
				impossible++
				checkInfeasible(t, e, task)
				continue
			}
			panels := map[int]bool{}
			for _, index := range e.Because()[0] {
				panels[panel(tr.Observation, index)] = true
			}
			if delete(panels, -1); len(panels) < 2 {
				t.Errorf("%s %d: %v is supported by %v, all in one panel; want two or more",
					info.Name, seed, e.Right()[0].JSON(), e.Because()[0])
			}
		}
	}
	if impossible == 0 {
		t.Error("no task is impossible, want some")
	}
}

// checkInfeasible declares that the task cannot be done, which must be its success, and that it is done, which must
// not.
func checkInfeasible(t *testing.T, e *environment, task domain.Task) {
	t.Helper()

	for status, want := range map[string]bool{domain.StatusInfeasible: true, domain.StatusComplete: false} {
		if _, err := e.Reset(t.Context(), task); err != nil {
			t.Fatal(err)
		}
		action := domain.Action{Family: domain.FamilyMobile, Type: domain.ActionStatus, GoalStatus: status}
		if _, err := e.Step(t.Context(), action); err != nil {
			t.Fatal(err)
		}
		if score, err := e.Score(t.Context()); err != nil || score.Success != want {
			t.Errorf("%s %d, declared %s: got %+v, %v; want success %v",
				task.Template, task.Seed, status, score, err, want)
		}
	}
}
