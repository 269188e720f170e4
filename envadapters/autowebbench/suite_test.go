package autowebbench

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/acceptance"
	"github.com/collabui/collabui/fault"
)

func open(t *testing.T, o envadapters.Options) *Suite {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}

	return s
}

func TestAcceptance(t *testing.T) {
	for _, r := range acceptance.Test(t, open(t, envadapters.Options{Data: "testdata"}), 0) {
		if r.Expert != acceptance.Solves || r.Replay != acceptance.Identical {
			t.Errorf("got %+v, want an expert that solves and an identical replay", r)
		}
	}
}

func TestDataMayBeALink(t *testing.T) {
	link := filepath.Join(t.TempDir(), "autowebbench")
	folder, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(folder, link); err != nil {
		t.Fatal(err)
	}
	if got := open(t, envadapters.Options{Data: link}).Splits(); !slices.Contains(got, "en-ind") {
		t.Errorf("splits are %v, want en-ind among them", got)
	}
}

// TestFilesThatWerePutRightAreFound queries a suite, as a worker keeps it, before and after a person has put the files
// in place.
func TestFilesThatWerePutRightAreFound(t *testing.T) {
	dir := t.TempDir()
	s := open(t, envadapters.Options{Data: dir})
	if h := s.Check(t.Context()); h.State != envadapters.Dead {
		t.Errorf("without files it is %+v, want it dead", h)
	}
	if err := os.CopyFS(filepath.Join(dir, "en"), os.DirFS("testdata/en")); err != nil {
		t.Fatal(err)
	}
	if h := s.Check(t.Context()); h.State != envadapters.Ready {
		t.Errorf("with the files it is %+v, want it ready", h)
	}
}

// reset opens the second task of the test data.
func reset(t *testing.T) (envadapters.Environment, envadapters.Transition) {
	t.Helper()
	env, err := open(t, envadapters.Options{Data: "testdata/en/ind/test.json"}).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tr, err := env.Reset(t.Context(), domain.Task{Split: "en-ind", Template: "0002", MaxSteps: 2})
	if err != nil {
		t.Fatal(err)
	}

	return env, tr
}

func TestAPageBecomesElements(t *testing.T) {
	_, tr := reset(t)

	var got []string
	for _, e := range tr.Observation.Elements {
		line := fmt.Sprintf("%d %s %s %s%s %v", e.Index, e.ID, e.Role, e.Text, e.Value, e.State)
		got = append(got, line)
	}
	want := []string{
		"0 - tabs 1. Default <-- current tab []",
		"1 - viewport 0 / 2.0 []",
		"2 A link Tea []",
		"3 S link Coffee; strong []",
		"4 - text All drinks are []",
		"5 - text fresh []",
		"6 - text today []",
		"7 D field Search drinks []",
		"8 F checkbox  [checked]",
		"9 K select small large []",
		"10 L button Order []",
		"11 AL text now []",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestTheGoalAndTheHistoryAreTheRecordedOnes(t *testing.T) {
	env, tr := reset(t)
	if want := `Search for "green tea"`; tr.Goal != want {
		t.Errorf("goal is %q, want %q", tr.Goal, want)
	}
	if tr.History == nil || len(tr.History) != 0 {
		t.Errorf("history is %#v, want one without lines", tr.History)
	}

	tr, err := env.Step(t.Context(), domain.Action{Family: domain.FamilyWeb, Type: domain.ActionNone})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`1 type_string("D", "it's\na \"test\"", false) field Search drinks`,
		`2 scroll_page("down")`,
		`3 user_input("log in")`,
	}
	if !slices.Equal(tr.History, want) {
		t.Errorf("history is %q, want %q", tr.History, want)
	}
}

// brokenFile copies the test data with one broken record and returns the folder and the file.
func brokenFile(t *testing.T) (dir, file string) {
	t.Helper()
	raw, err := os.ReadFile("testdata/en/ind/test.json")
	if err != nil {
		t.Fatal(err)
	}

	dir = t.TempDir()
	file = filepath.Join(dir, "test.json")
	text := strings.Replace(string(raw), `"finish()"`, `"explode()"`, 1)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}

	return dir, file
}

func TestABrokenRecordIsSkippedOrFatalByChoice(t *testing.T) {
	dir, file := brokenFile(t)

	for name, test := range map[string]struct {
		options envadapters.Options
		state   envadapters.HealthState
		details []string
	}{
		"stop": {
			envadapters.Options{Data: file},
			envadapters.Dead,
			[]string{"test.json:3: record 2: target: unknown command"},
		},
		"skip": {
			envadapters.Options{Data: dir, Broken: "skip"},
			envadapters.Degraded,
			[]string{"4 records", "skipped", "test.json:3"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t, test.options).Check(t.Context())
			if h.State != test.state {
				t.Errorf("state is %s, want %s", h.State, test.state)
			}
			for _, want := range test.details {
				if !strings.Contains(h.Detail, want) {
					t.Errorf("detail is %q, want it to contain %q", h.Detail, want)
				}
			}
		})
	}

	if _, err := open(t, envadapters.Options{Data: file}).Templates("x"); fault.KindOf(err) != fault.Invalid {
		t.Errorf("Templates of a broken file = %v, want an invalid fault", err)
	}
}

func TestWrongOptionsAreInvalid(t *testing.T) {
	for _, o := range []envadapters.Options{{}, {Data: "testdata", Broken: "maybe"}} {
		if _, err := New(o); fault.KindOf(err) != fault.Invalid {
			t.Errorf("New(%+v) = %v, want an invalid fault", o, err)
		}
	}
}

// TestThePublishedFiles reads the published files in the folder that COLLABUI_AUTOWEBBENCH names.
func TestThePublishedFiles(t *testing.T) {
	data := os.Getenv("COLLABUI_AUTOWEBBENCH")
	if data == "" {
		t.Skip("set COLLABUI_AUTOWEBBENCH to the folder with the published files")
	}

	s := open(t, envadapters.Options{Data: data})
	ix, err := s.read()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{"en-ind": 349, "zh-ind": 392} {
		if sp := ix.splits[name]; sp.records != want || len(ix.problems) > 0 {
			t.Errorf("%s has %d records and the problems %v, want %d and none", name, sp.records, ix.problems, want)
		}
	}

	for _, r := range acceptance.Test(t, s, 20) {
		if r.Expert != acceptance.Solves {
			t.Errorf("got %+v, want an expert that solves", r)
		}
	}
}
