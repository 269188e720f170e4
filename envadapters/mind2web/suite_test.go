package mind2web

import (
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
	for _, protocol := range []string{protocolOfficial, protocolList} {
		t.Run(protocol, func(t *testing.T) {
			s := open(t, envadapters.Options{Data: "testdata", Protocol: protocol})
			for _, r := range acceptance.Test(t, s, 0) {
				// The right element of one step of t2 is not among its candidates.
				want := acceptance.Solves
				if r.Template == "t2" {
					want = acceptance.Fails
				}
				if r.Expert != want {
					t.Errorf("%s: the expert %s, want %s", r.Template, r.Expert, want)
				}
				if r.Replay != acceptance.Identical {
					t.Errorf("%s: the replay is %s, want %s", r.Template, r.Replay, acceptance.Identical)
				}
			}
		})
	}
}

func TestDataMayBeALink(t *testing.T) {
	link := filepath.Join(t.TempDir(), "mind2web")
	folder, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(folder, link); err != nil {
		t.Fatal(err)
	}
	if h := open(t, envadapters.Options{Data: link}).Check(t.Context()); h.State != envadapters.Ready {
		t.Errorf("got %+v, want it ready", h)
	}
}

func TestWrongOptionsAreInvalid(t *testing.T) {
	for _, o := range []envadapters.Options{
		{},
		{Data: "testdata", Protocol: "x"},
		{Data: "testdata", Broken: "x"},
	} {
		if _, err := New(o); fault.KindOf(err) != fault.Invalid {
			t.Errorf("New(%+v) = %v, want an invalid fault", o, err)
		}
	}
}

func TestAnEmptyFolderIsDead(t *testing.T) {
	h := open(t, envadapters.Options{Data: t.TempDir()}).Check(t.Context())
	if h.State != envadapters.Dead || h.Fix == "" {
		t.Errorf("Check() = %+v, want a dead suite and what to do", h)
	}
}

const goodTask = `{"annotation_id":"a","confirmed_task":"g","website":"w","actions":[` +
	`{"operation":{"op":"CLICK"},"pos_candidates":[{"tag":"a","backend_node_id":"1"}]}]}`

// folder returns a new folder with one file of a test split.
func folder(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "test_task"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "test_task", "x.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}

	return dir
}

func TestBrokenTasksAreNamed(t *testing.T) {
	dir := folder(t, "["+goodTask+",\n"+strings.Replace(goodTask, "CLICK", "FLY", 1)+"]")

	for name, test := range map[string]struct {
		broken  string
		state   envadapters.HealthState
		details []string
	}{
		"stop": {"stop", envadapters.Dead, []string{"x.json:2", "FLY"}},
		"skip": {"skip", envadapters.Degraded, []string{"1 tasks", "skipped", "x.json:2", "FLY"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t, envadapters.Options{Data: dir, Broken: test.broken}).Check(t.Context())
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
}

func TestATaskMayNotBeInASplitTwice(t *testing.T) {
	dir := folder(t, "["+goodTask+","+goodTask+"]")

	_, err := open(t, envadapters.Options{Data: dir}).Templates(SplitTask)
	if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "is also at") {
		t.Errorf("Templates = %v, want an invalid fault that has both places", err)
	}
}

func TestGivenRanksCutTheCandidates(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata")); err != nil {
		t.Fatal(err)
	}
	ranks := `{"id":"t1_a1","ranks":{"2":49,"20":0,"21":1}}
{"id":"t1_a2","ranks":{"20":0}}
{"id":"t2_b1","ranks":{"5":0}}
`
	if err := os.WriteFile(filepath.Join(dir, RanksFile), []byte(ranks), 0o600); err != nil {
		t.Fatal(err)
	}

	t.Run("list", func(t *testing.T) {
		s := open(t, envadapters.Options{Data: dir, Protocol: protocolList})
		if got, want := s.Protocol(), "list of 50, given ranks"; got != want {
			t.Errorf("Protocol() = %q, want %q", got, want)
		}

		var shown []string
		metrics, _ := play(t, s, "t1", func(o domain.Observation, right []domain.Action) domain.Action {
			var ids []string
			for _, e := range o.Elements {
				ids = append(ids, e.ID)
			}
			shown = append(shown, strings.Join(ids, " "))
			return expertOr(nothing)(o, right)
		})
		if want := []string{"20 21 2", "20", ""}; !slices.Equal(shown, want) {
			t.Errorf("shown %q, want %q", shown, want)
		}
		for _, name := range []string{envadapters.StepSR, MetricRecall} {
			if got, want := metrics[name], (domain.Metric{Sum: 1, N: 3}); got != want {
				t.Errorf("%s is %+v, want %+v", name, got, want)
			}
		}
	})

	t.Run("official", func(t *testing.T) {
		s := open(t, envadapters.Options{Data: dir})
		metrics, _ := play(t, s, "t2", expertOr(nil))
		if got := metrics[envadapters.StepSR].Sum; got != 0 {
			t.Errorf("%v steps are right, want 0, because a single candidate is never chosen", got)
		}
	})
}

func TestLexicalRanksFindWhatTheTaskNames(t *testing.T) {
	env, err := open(t, envadapters.Options{Data: "testdata", Protocol: protocolList}).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tr, err := env.Reset(t.Context(), domain.Task{Split: SplitTask, Template: "t1", MaxSteps: 3})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := tr.Observation.Elements[0].Text, "Book a table"; got != want {
		t.Errorf("the first candidate is %q, want %q", got, want)
	}

	tr, err = env.Step(t.Context(), domain.Action{})
	if want := []string{"1 [link]  Book a table -> CLICK"}; err != nil || !slices.Equal(tr.History, want) {
		t.Errorf("history is %q, %v, want %q", tr.History, err, want)
	}
}
