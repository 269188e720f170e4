package miniwob

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/acceptance"
)

// official is the folder of the official pages, where COLLABUI_MINIWOB names one.
func official(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("COLLABUI_MINIWOB")
	if dir == "" {
		t.Skipf("COLLABUI_MINIWOB names no folder of the official pages; to get one: %s", fix)
	}
	return dir
}

func TestAcceptanceOfOwnPages(t *testing.T) {
	for _, semantics := range []string{Standard, Mobile} {
		s := suite(t, own, semantics)
		for _, p := range acceptance.Suite(t.Context(), s) {
			t.Error(p)
		}
		for _, name := range []string{"form", "rewards"} {
			r, err := acceptance.Task(t.Context(), s, domain.Task{Suite: s.Name(), Template: name, Split: SplitAll, Seed: 7, MaxSteps: s.rules.maxSteps})
			if err != nil || len(r.Problems) > 0 || r.Replay != acceptance.Identical || r.Screenshot == nil {
				t.Errorf("%s, %s: %v, %q, replay %s", semantics, name, err, r.Problems, r.Replay)
			}
		}
	}
	s := suite(t, own, Standard)
	problems, err := acceptance.Faulty(t.Context(), s, domain.Task{Suite: s.Name(), Template: "form", Split: SplitAll, Seed: 7, MaxSteps: 10})
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %q", err, problems)
	}
}

func TestAcceptanceOfOfficialPages(t *testing.T) {
	dir := official(t)
	for _, r := range acceptance.Test(t, suite(t, dir, Standard), 1) {
		if r.Replay != acceptance.Identical || r.Screenshot == nil {
			t.Errorf("%+v", r)
		}
	}
	s := suite(t, dir, Mobile)
	for _, name := range []string{"choose-date", "click-menu-2", "email-inbox", "terminal"} {
		r, err := acceptance.Task(t.Context(), s, domain.Task{Suite: s.Name(), Template: name, Split: SplitMobile92, Seed: 7, MaxSteps: 30})
		if err != nil || len(r.Problems) > 0 || !strings.HasPrefix(r.Goal, mobileGoal) {
			t.Errorf("%s: %v, %q, %q", name, err, r.Problems, r.Goal)
		}
	}
}

func TestOfficialPagesAreAllThere(t *testing.T) {
	s := suite(t, official(t), Standard)
	count := map[string]int{}
	for _, split := range s.Splits() {
		ts, err := s.Templates(split)
		if err != nil {
			t.Fatal(err)
		}
		count[split] = len(ts)
	}
	want := map[string]int{domain.SplitTrain: 104, domain.SplitVal: 104, domain.SplitTestSeeds: 104, domain.SplitTestTemplates: 26, SplitAll: 130, SplitMobile62: 62, SplitMobile92: 91}
	if !maps.Equal(count, want) || !slices.Equal(s.Missing(), []string{"drag-item"}) {
		t.Errorf("%v, missing %v", count, s.Missing())
	}
}

func TestIconsOfOfficialPagesAreThereOnTheFirstLoad(t *testing.T) {
	s, err := New(envadapters.Options{Data: official(t)}, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	e, err := s.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(t.Context())
	tr := reset(t, e.(*environment), "email-inbox-delete", 7)
	n := 0
	for _, x := range tr.Observation.Elements {
		if x.Desc == "trash" && x.Bounds[2] > 0 {
			n++
		}
	}
	if n < 3 {
		t.Errorf("%d icons", n)
	}
}

// TestExpertsSolveOfficialTasks plays a part of the tasks that have an expert. A few goals cannot be reached: in mobile semantics an answer to a mail ends with a line break.
func TestExpertsSolveOfficialTasks(t *testing.T) {
	_, e := open(t, official(t), Mobile)
	var played, failed []string
	for i, name := range slices.Sorted(maps.Keys(strategies)) {
		if i%4 != 0 {
			continue
		}
		tr := reset(t, e, name, 1)
		goal := tr.Goal
		for !tr.Terminated && !tr.Truncated {
			a, ok := e.Advise()
			if !ok {
				break
			}
			tr = step(t, e, a)
		}
		played = append(played, name)
		if tr.Reward != 1 {
			failed = append(failed, name+": "+goal)
		}
	}
	if len(failed)*10 > len(played) {
		t.Errorf("%d of %d tasks: %q", len(failed), len(played), failed)
	}
}
