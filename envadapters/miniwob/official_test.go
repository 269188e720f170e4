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

// official returns the folder of the official pages that COLLABUI_MINIWOB names. It skips the test if the variable is
// not set.
func official(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("COLLABUI_MINIWOB")
	if dir == "" {
		t.Skipf("COLLABUI_MINIWOB names no folder of the official pages; to download one: %s", fix)
	}

	return dir
}

// accept checks one task against the contract and returns the report.
func accept(t *testing.T, s *Suite, task domain.Task) acceptance.Report {
	t.Helper()

	r, err := acceptance.Task(t.Context(), s, task)
	if err != nil {
		t.Fatal(err)
	}

	if len(r.Problems) > 0 {
		t.Errorf("%s: problems %q, want none", task.Template, r.Problems)
	}

	return r
}

// wantIdentical checks that an episode replays and has a screenshot.
func wantIdentical(t *testing.T, r acceptance.Report) {
	t.Helper()

	if r.Replay != acceptance.Identical {
		t.Errorf("%s: the replay is %s, want %s", r.Template, r.Replay, acceptance.Identical)
	}

	if r.Screenshot == nil {
		t.Errorf("%s: got no screenshot, want one", r.Template)
	}
}

func TestAcceptanceOfOwnPages(t *testing.T) {
	for _, semantics := range []string{Standard, Mobile} {
		t.Run(semantics, func(t *testing.T) {
			s := suite(t, own, semantics)
			if p := acceptance.Suite(t.Context(), s); len(p) > 0 {
				t.Errorf("problems %q, want none", p)
			}

			for _, name := range []string{"form", "rewards"} {
				wantIdentical(t, accept(t, s, s.task(name, 7)))
			}
		})
	}
}

func TestAcceptanceWithFaults(t *testing.T) {
	s := suite(t, own, Standard)
	problems, err := acceptance.Faulty(t.Context(), s, s.task("form", 7))
	if err != nil || len(problems) > 0 {
		t.Errorf("Faulty = %q, %v, want no problem", problems, err)
	}
}

func TestAcceptanceOfOfficialPages(t *testing.T) {
	dir := official(t)
	for _, r := range acceptance.Test(t, suite(t, dir, Standard), 1) {
		wantIdentical(t, r)
	}

	s := suite(t, dir, Mobile)
	for _, name := range []string{"choose-date", "click-menu-2", "email-inbox", "terminal"} {
		task := s.task(name, 7)
		task.Split = SplitMobile92
		if r := accept(t, s, task); !strings.HasPrefix(r.Goal, mobileGoal) {
			t.Errorf("%s: the goal is %q, want %q first", name, r.Goal, mobileGoal)
		}
	}
}

func TestOfficialPagesAreComplete(t *testing.T) {
	s := suite(t, official(t), Standard)
	count := map[string]int{}
	for _, split := range s.Splits() {
		ts, err := s.Templates(split)
		if err != nil {
			t.Fatal(err)
		}
		count[split] = len(ts)
	}

	want := map[string]int{
		domain.SplitTrain:         104,
		domain.SplitVal:           104,
		domain.SplitTestSeeds:     104,
		domain.SplitTestTemplates: 26,
		SplitAll:                  130,
		SplitMobile62:             62,
		SplitMobile92:             91,
	}

	if !maps.Equal(count, want) {
		t.Errorf("templates %v, want %v", count, want)
	}

	if m := s.missing(); !slices.Equal(m, []string{"drag-item"}) {
		t.Errorf("missing %v, want drag-item", m)
	}
}

func TestIconsOfOfficialPagesAppearOnTheFirstLoad(t *testing.T) {
	s, err := New(envadapters.Options{Data: official(t)}, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
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
		t.Errorf("%d icons, want at least 3", n)
	}
}

// TestExpertsSolveOfficialTasks plays a part of the tasks that have an expert. A few goals cannot be reached: in mobile
// semantics an answer to a mail ends with a line break.
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
		t.Errorf("%d of %d tasks fail, want at most a tenth: %q", len(failed), len(played), failed)
	}
}
