package mind2web

import (
	"context"
	"maps"
	"math"
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
	for _, protocol := range []string{"official", "list"} {
		for _, r := range acceptance.Test(t, open(t, envadapters.Options{Data: "testdata", Protocol: protocol}), 0) {
			if lost := r.Template == "t2"; r.Replay != acceptance.Identical || (r.Expert == acceptance.Solves) == lost {
				t.Errorf("%s: %+v", protocol, r)
			}
		}
	}
}

// play plays a task; decide gives the action for a pose.
func play(t *testing.T, s *Suite, split, name string, decide func(o domain.Observation, right []domain.Action) domain.Action) (map[string]domain.Metric, int) {
	t.Helper()
	env, err := s.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tr, err := env.Reset(t.Context(), domain.Task{Split: split, Template: name, Seed: 3, MaxSteps: 100})
	n := 0
	for ; err == nil && !tr.Terminated; n++ {
		tr, err = env.Step(t.Context(), decide(tr.Observation, envadapters.Can(env).Judge.Right()))
	}
	if err != nil {
		t.Fatal(err)
	}
	sc, _ := env.Score(context.Background())
	return sc.Metrics, n
}

func TestStepsAreScoredAsPublished(t *testing.T) {
	expert := func(_ domain.Observation, right []domain.Action) domain.Action { return right[0] }
	first := func(o domain.Observation, _ []domain.Action) domain.Action {
		return domain.Action{Family: domain.FamilyWeb, Type: domain.ActionClick, Element: o.Elements[0].ID}
	}
	nothing := func(domain.Observation, []domain.Action) domain.Action {
		return domain.Action{Family: domain.FamilyWeb, Type: domain.ActionNone}
	}
	typo := func(o domain.Observation, right []domain.Action) domain.Action { // the right element, half of the words
		a := right[0]
		if a.Type == domain.ActionTypeString {
			a.Text = "Bob"
		}
		if a.Type == domain.ActionSelect {
			a.Type, a.Option = domain.ActionClick, ""
		}
		return a
	}
	for _, c := range []struct {
		protocol, task string
		decide         func(domain.Observation, []domain.Action) domain.Action
		step, el, f1   float64
		n, questions   int
	}{
		{"list", "t1", expert, 3, 3, 3, 3, 3},
		{"official", "t1", expert, 3, 3, 3, 3, 0},
		{"list", "t1", nothing, 0, 0, 0, 3, 3},
		{"official", "t1", nothing, 0, 0, 0, 3, 0},
		{"list", "t1", typo, 1, 3, 1.5, 3, 3},
		{"list", "t2", expertOr(nothing), 1, 1, 1, 2, 2}, // a lost target counts as missed
		{"official", "t2", expertOr(nothing), 1, 1, 1, 2, 0},
	} {
		m, n := play(t, open(t, envadapters.Options{Data: "testdata", Protocol: c.protocol}), SplitTask, c.task, c.decide)
		near := func(name string, want float64) bool {
			return math.Abs(m[name].Sum-want) < 1e-9 && m[name].N == c.n
		}
		if !near(envadapters.StepSR, c.step) || !near(MetricElement, c.el) || !near(MetricF1, c.f1) || c.questions > 0 && n != c.questions || n > c.n*maxQuestions {
			t.Errorf("%s %s: %v after %d questions", c.protocol, c.task, m, n)
		}
	}
	if m, _ := play(t, open(t, envadapters.Options{Data: "testdata"}), SplitTask, "t1", first); m[envadapters.StepSR].Sum > 1 {
		t.Errorf("the first of every group: %v", m)
	}
	for got, want := range map[[2]string]float64{{"", ""}: 1, {"CLICK", "CLICK"}: 1, {"TYPE a b", "TYPE b a a"}: 1, {"TYPE a", "TYPE b"}: 0.5, {"CLICK", "TYPE b"}: 0} {
		if f := setF1(got[0], got[1]); math.Abs(f-want) > 1e-9 {
			t.Errorf("%v: %v", got, f)
		}
	}
}

func expertOr(other func(domain.Observation, []domain.Action) domain.Action) func(domain.Observation, []domain.Action) domain.Action {
	return func(o domain.Observation, right []domain.Action) domain.Action {
		if len(right) > 0 {
			return right[0]
		}
		return other(o, right)
	}
}

func TestGivenRanksCutTheCandidates(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, RanksFile), []byte(`{"id":"t1_a1","ranks":{"2":49,"20":0,"21":1}}
{"id":"t1_a2","ranks":{"20":0}}
{"id":"t2_b1","ranks":{"5":0}}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, envadapters.Options{Data: dir, Protocol: "list"})
	var shown []string
	m, _ := play(t, s, SplitTask, "t1", func(o domain.Observation, right []domain.Action) domain.Action {
		var ids []string
		for _, e := range o.Elements {
			ids = append(ids, e.ID)
		}
		shown = append(shown, strings.Join(ids, " "))
		return expertOr(func(domain.Observation, []domain.Action) domain.Action {
			return domain.Action{Family: domain.FamilyWeb, Type: domain.ActionNone}
		})(o, right)
	})
	if !slices.Equal(shown, []string{"20 21 2", "20", ""}) || m[envadapters.StepSR] != (domain.Metric{Sum: 1, N: 3}) || m[MetricRecall] != (domain.Metric{Sum: 1, N: 3}) {
		t.Errorf("%q %v", shown, m)
	}
	if m, _ := play(t, open(t, envadapters.Options{Data: dir}), SplitTask, "t2", expertOr(nil)); m[envadapters.StepSR].Sum != 0 {
		t.Errorf("a single candidate was asked about: %v", m)
	}
	if s.Protocol() != "list of 50, given ranks" {
		t.Error(s.Protocol())
	}
}

func TestLexicalRanksFindWhatTheTaskNames(t *testing.T) {
	env, _ := open(t, envadapters.Options{Data: "testdata", Protocol: "list"}).Open(t.Context())
	tr, err := env.Reset(t.Context(), domain.Task{Split: SplitTask, Template: "t1", MaxSteps: 3})
	if err != nil || tr.Observation.Elements[0].Text != "Book a table" {
		t.Errorf("%+v %v", tr.Observation, err)
	}
	if tr, err = env.Step(t.Context(), domain.Action{}); err != nil || !slices.Equal(tr.History, []string{"1 [link]  Book a table -> CLICK"}) {
		t.Error(tr.History, err)
	}
}

func TestBrokenFilesAreNamed(t *testing.T) {
	dir := t.TempDir()
	write := func(split, text string) {
		if err := os.MkdirAll(filepath.Join(dir, split), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, split, "x.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	good := `{"annotation_id":"a","confirmed_task":"g","website":"w","actions":[{"operation":{"op":"CLICK"},"pos_candidates":[{"tag":"a","backend_node_id":"1"}]}]}`
	write("test_task", "["+good+",\n"+strings.Replace(good, "CLICK", "FLY", 1)+"]")
	if h := open(t, envadapters.Options{Data: dir}).Check(t.Context()); h.State != envadapters.Dead || !strings.Contains(h.Detail, "x.json:2") || !strings.Contains(h.Detail, "FLY") {
		t.Error(h)
	}
	if h := open(t, envadapters.Options{Data: dir, Broken: "skip"}).Check(t.Context()); h.State != envadapters.Degraded || !strings.Contains(h.Detail, "1 tasks") {
		t.Error(h)
	}
	write("test_task", "["+good+","+good+"]")
	if _, err := open(t, envadapters.Options{Data: dir}).Templates(SplitTask); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "stands in") {
		t.Error(err)
	}
	for _, o := range []envadapters.Options{{}, {Data: dir, Protocol: "x"}, {Data: dir, Broken: "x"}} {
		if _, err := New(o); fault.KindOf(err) != fault.Invalid {
			t.Error(o, err)
		}
	}
	if h := open(t, envadapters.Options{Data: t.TempDir()}).Check(t.Context()); h.State != envadapters.Dead || h.Fix == "" {
		t.Error(h)
	}
}

func TestTextBelongsToTheElementsAroundIt(t *testing.T) {
	got := pageTexts(`<div backend_node_id="1"><input backend_node_id="2"><img backend_node_id="3"/>a <b backend_node_id="4">b</p></b></div> c`)
	if !maps.Equal(got, map[string]string{"1": "a b", "4": "b"}) {
		t.Errorf("%q", got)
	}
}

func FuzzPageTexts(f *testing.F) {
	f.Add(`<a backend_node_id="1">x</a>`)
	f.Fuzz(func(t *testing.T, s string) {
		for v := range maps.Values(pageTexts(s)) {
			if len(v) > maxText+len(s) {
				t.Error(len(v))
			}
		}
	})
}
