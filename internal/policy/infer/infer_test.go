package infer_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/policy/infer"
	"github.com/collabui/collabui/internal/policy/tinylm"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/test/kit/testrun"
)

// TestAFinishedRun plays one run and uses what it trained in every way.
func TestAFinishedRun(t *testing.T) {
	r := testrun.Learning(t, testrun.Tiny())
	_, err := infer.Find(t.Context(), r.Bucket, "small", "")
	if !errors.Is(err, infer.ErrNoBase) || fault.KindOf(err) != fault.Invalid {
		t.Errorf("Find without a policy = %v, want %v as an invalid fault", err, infer.ErrNoBase)
	}

	end, err := r.Play(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	sys := find(t, r, "")
	if sys.Epoch != end.Best || len(sys.Policies) != 4 {
		t.Fatalf("Find = %d policies of epoch %d, want 4 of %d", len(sys.Policies), sys.Epoch, end.Best)
	}
	t.Run("choice", func(t *testing.T) { choices(t, r, sys) })
	t.Run("refused choice", func(t *testing.T) { refusedChoices(t, r) })
	t.Run("http", func(t *testing.T) { decisions(t, r, sys) })
	t.Run("crowded", func(t *testing.T) { checkCrowded(t, r, sys) })
	t.Run("greedy", func(t *testing.T) { checkGreedy(t, r, sys) })
	t.Run("stream", func(t *testing.T) { checkStreaming(t, r, sys) })
	t.Run("stop", func(t *testing.T) { stops(t, r, sys) })
	t.Run("ignored", func(t *testing.T) { checkIgnoredMembers(t, r, sys) })
	t.Run("models", func(t *testing.T) { checkModels(t, r, sys) })
	t.Run("usage", func(t *testing.T) { checkUsage(t, r, sys) })
	t.Run("refusals", func(t *testing.T) { checkRefusals(t, r, sys) })
	t.Run("failures", func(t *testing.T) { checkFailures(t, sys) })
	t.Run("undecided", func(t *testing.T) { checkUndecided(t, sys) })
	t.Run("key", func(t *testing.T) { checkKeys(t, r, sys) })
	t.Run("unended", func(t *testing.T) { checkUnended(t, r) })
}

// find returns a system of the finished run.
func find(t *testing.T, r *testrun.Run, which string) infer.TrainedSystem {
	t.Helper()
	s, err := infer.Find(t.Context(), r.Bucket, "small", which)
	if err != nil {
		t.Fatal(err)
	}

	return s
}

// checkCrowded shows the small policy more than it can read, and checks that prompts are cut and every cell records
// what its prompt lacked.
func checkCrowded(t *testing.T, r *testrun.Run, sys infer.TrainedSystem) {
	v := agents.View{Goal: "press w3"}
	for i := range 300 {
		v.Observation.Elements = append(v.Observation.Elements, domain.Element{
			Index: i, Role: "button", Text: fmt.Sprint("w", i), Visible: true,
		})
	}
	got, err := sys.Decide(t.Context(), r.Deps.Chat, v, infer.Options{Whole: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range got.Decision.Cells {
		over := tinylm.Over(c.Prompt)
		if over != 0 || len(c.LeftOut.Elements) < 50 || slices.Contains(c.LeftOut.Elements, 3) {
			t.Errorf("agent %d, round %d: %d tokens too many without the elements %v; want 0, many and not 3",
				c.Agent, c.Round, over, c.LeftOut.Elements)
		}
	}
}

func choices(t *testing.T, r *testrun.Run, best infer.TrainedSystem) {
	base, _, err := runs.Run("small").Base().Must(t.Context(), r.Bucket)
	if err != nil {
		t.Fatal(err)
	}
	for _, which := range []string{infer.Base, "0"} {
		s := find(t, r, which)
		if s.Topology != nil || s.Epoch != 0 {
			t.Errorf("Find(%q) = epoch %d on %v, want epoch 0 without a graph", which, s.Epoch, s.Topology)
		}
		if got, want := s.Digests()[3], base.Policy.Digest; got != want {
			t.Errorf("Find(%q) = %s for the last agent, want %s", which, got, want)
		}
	}
	if s := find(t, r, infer.Best); s.Epoch != best.Epoch {
		t.Errorf("Find(%q) = epoch %d, want %d", infer.Best, s.Epoch, best.Epoch)
	}

	e, _, err := runs.Run("small").Epoch(1).Must(t.Context(), r.Bucket)
	if err != nil {
		t.Fatal(err)
	}
	s := find(t, r, "1")
	if !reflect.DeepEqual(s.Policies, e.System.Policies) {
		t.Errorf("Find(1) = %+v, want %+v", s.Policies, e.System.Policies)
	}
	if s.Topology == nil || s.Topology.Agents != 4 {
		t.Errorf("Find(1) = the graph %+v, want one of 4 agents", s.Topology)
	}

	var loaded []string
	err = s.Load(t.Context(), func(_ context.Context, d string, _ int) error {
		loaded = append(loaded, d)
		return nil
	})
	if err != nil || len(loaded) == 0 || len(loaded) > 4 {
		t.Errorf("Load loaded %v, %v; want 1 to 4 policies", loaded, err)
	}
}

func refusedChoices(t *testing.T, r *testrun.Run) {
	for which, want := range map[string]string{
		"2":    "committed 1 epochs",
		"-1":   "expected a number",
		"last": "expected a number",
	} {
		_, err := infer.Find(t.Context(), r.Bucket, "small", which)
		if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("Find(%q) = %v, want an invalid fault with %q", which, err, want)
		}
	}

	if _, err := infer.Find(t.Context(), r.Bucket, "other", ""); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Find of another run = %v, want %v", err, store.ErrNotFound)
	}
}

// checkUnended checks what is found of a run that has not ended. It damages the run.
func checkUnended(t *testing.T, r *testrun.Run) {
	r.Bucket.Damage(runs.Run("small").End().Key, nil)
	if s := find(t, r, ""); s.Epoch != 1 {
		t.Errorf("Find = epoch %d, want the newest, 1", s.Epoch)
	}

	_, err := infer.Find(t.Context(), r.Bucket, "small", infer.Best)
	if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "has not ended") {
		t.Errorf("Find(%q) = %v, want an invalid fault: the run has not ended", infer.Best, err)
	}
}
