package webtasks

import (
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
)

func TestNoGeneratorIsInTwoSplits(t *testing.T) {
	all, err := templates()
	if err != nil {
		t.Fatal(err)
	}

	home, count, generators := map[string]string{}, map[string]int{}, map[string]int{}
	for _, x := range all {
		split, seen := home[x.Generator]
		if seen && split != x.Split {
			t.Errorf("generator %q makes templates of %s and of %s, want one split", x.Generator, split, x.Split)
		}
		home[x.Generator] = x.Split
		count[x.Split]++
		if !seen {
			generators[x.Split]++
		}
	}

	least := map[string]int{domain.SplitTrain: 28, domain.SplitTestTemplates: 10, domain.SplitTestApps: 5}
	for split, n := range count {
		if want, ok := least[split]; !ok || n < want {
			t.Errorf("split %q has %d templates of its own, want one of %v with at least as many", split, n, least)
		}
	}
	if n := generators[domain.SplitTestTemplates]; n < 8 {
		t.Errorf("test-templates has %d generators, want at least 8", n)
	}
}

// TestAppsOfTestAppsAreInNoOtherSplit identifies an app by the heading of its first screen.
func TestAppsOfTestAppsAreInNoOtherSplit(t *testing.T) {
	e := onAPage(t)
	all, err := templates()
	if err != nil {
		t.Fatal(err)
	}

	unseen, others := map[string]bool{}, map[string]bool{}
	for _, x := range all {
		task := domain.Task{Template: x.Name, Split: x.Split, Seed: 1, MaxSteps: x.Max}
		tr, err := e.Reset(t.Context(), task)
		if err != nil {
			t.Fatal(err)
		}

		i := slices.IndexFunc(tr.Observation.Elements, func(x domain.Element) bool { return x.Role == "heading" })
		if i < 0 {
			t.Fatalf("%s has no heading on its first screen, want one", x.Name)
		}
		apps := others
		if x.Split == domain.SplitTestApps {
			apps = unseen
		}
		apps[tr.Observation.Elements[i].Text] = true
	}

	for app := range unseen {
		if others[app] {
			t.Errorf("the app %s is in test-apps and in another split, want it in test-apps only", app)
		}
	}
	if len(unseen) < 3 {
		t.Errorf("test-apps has the apps %v, want at least 3", unseen)
	}
}

// TestTrainingNeedsEveryKindOfAction plays the expert on train. A type of action that the expert never uses must be
// right somewhere.
func TestTrainingNeedsEveryKindOfAction(t *testing.T) {
	s, e := open(t)
	ts, err := s.Templates(domain.SplitTrain)
	if err != nil {
		t.Fatal(err)
	}

	right := map[string]bool{}
	note := func() {
		for _, a := range e.Right() {
			right[a.Type] = true
		}
	}
	for _, x := range ts {
		for seed := range uint64(2) {
			tr, err := e.Reset(t.Context(), domain.Task{
				Template: x.Name, Split: domain.SplitTrain, Seed: seed, MaxSteps: x.MaxSteps,
			})
			for note(); err == nil && !tr.Terminated && !tr.Truncated; note() {
				tr, err = e.Step(t.Context(), e.Right()[0])
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}

	// An agent that entered the wrong screen must go back.
	wrong := domain.Task{Template: "contacts-delete", Split: domain.SplitTrain, Seed: 1, MaxSteps: 8}
	tr, err := e.Reset(t.Context(), wrong)
	if err != nil {
		t.Fatal(err)
	}
	for _, el := range tr.Observation.Elements {
		if el.Role == "item" && !strings.Contains(tr.Goal, el.Text) {
			if _, err := e.Step(t.Context(), domain.Action{Type: domain.ActionClick, Index: &el.Index}); err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	note()

	for _, want := range []string{
		domain.ActionClick, domain.ActionInputText, domain.ActionEnter, domain.ActionStatus, domain.ActionLongPress,
		domain.ActionDoubleTap, domain.ActionScroll, domain.ActionBack,
	} {
		if !right[want] {
			t.Errorf("no screen of train needs %s, want one", want)
		}
	}
}
