package workflows_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/testsuite"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/care/fork"
	"github.com/collabui/collabui/internal/care/transfer"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/test/kit/testrun"
	"github.com/collabui/collabui/trainer"
	"github.com/collabui/collabui/workers/catalog"
)

// counted counts what a run asks of its policies and its trainer.
type counted struct {
	chat.Model
	trainer.Trainer
	calls, jobs int
}

func (c *counted) Complete(ctx context.Context, r chat.Request) (chat.Response, error) {
	c.calls++

	return c.Model.Complete(ctx, r)
}

func (c *counted) Train(
	ctx context.Context, j trainer.Job, say trainer.Progress,
) (trainer.Result, error) {
	c.jobs++

	return c.Trainer.Train(ctx, j, say)
}

// forked makes a fork of a run and returns it, to be played on the same store.
func forked(t *testing.T, r *testrun.Run, name string, epoch int, typed map[string]string) (*testrun.Run, *fork.Fork) {
	t.Helper()
	request := fork.Request{
		Run: runs.Run(r.Spec.Name), Name: runs.Run(name), Epoch: epoch, Who: "ann", Why: "what if", At: time.Now(),
		Typed: typed,
	}
	f, err := fork.Plan(t.Context(), r.Bucket, request, spec.Source{}, catalog.All{})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Make(t.Context(), r.Bucket, func(int) {}); err != nil {
		t.Fatal(err)
	}
	out := testrun.New(t, r.Spec)
	out.Spec.Name, out.Spec.Epochs = name, 9 // plays at most so often
	out.Bucket, out.Deps = r.Bucket, r.Deps

	return out, f
}

// count counts what is asked of a run's policies and trainer from now on.
func count(r *testrun.Run) *counted {
	c := &counted{Model: r.Deps.Chat, Trainer: r.Deps.Trainers[spec.Embedded]}
	r.Deps.Chat, r.Deps.Trainers = c, map[string]trainer.Trainer{spec.Embedded: c}

	return c
}

func TestAForkRecomputesOnlyWhatChanges(t *testing.T) {
	t.Parallel()
	s := threeEpochs()
	s.Evaluation.TestSeeds = 3
	original := testrun.WithBase(t, s)
	want := play(t, original)

	// Val has 8 episodes, test-seeds 3 of the two base systems and of the best one; an epoch has 6 slots.
	for name, x := range map[string]struct {
		epoch    int
		typed    map[string]string
		whole    int
		from     spec.Step
		episodes int // that are played, without tests
		jobs     int
	}{
		"unchanged-1": {1, nil, 3, 0, 0, 0},
		"unchanged-3": {3, nil, 3, 0, 0, 0},
		"budget":      {1, map[string]string{"budget.money": "3"}, 3, 0, 0, 0},
		"beta":        {1, map[string]string{"train.beta": "0.3"}, 1, spec.StepUpdate, 8 + 6 + 8, 8},
		"critic":      {1, map[string]string{"critic.error": "0.2"}, 1, spec.StepCredit, 8 + 6 + 8, 8},
		"grpo":        {1, map[string]string{"preference": "grpo"}, 1, spec.StepPairs, 8 + 6 + 8, 8},
		"fewer-slots": {2, map[string]string{"slots": "4"}, 2, spec.StepUpdate, 8, 4},
		"more-slots":  {2, map[string]string{"slots": "8"}, 2, spec.StepUpdate, 2 + 8, 4},
		"rounds":      {2, map[string]string{"rounds": "1"}, 2, spec.StepRollout, 6 + 8, 4},
		"val":         {1, map[string]string{"evaluation.val": "5"}, 1, spec.StepEvaluation, 5 + 6 + 5, 4},
		"longer":      {3, map[string]string{"epochs": "4"}, 3, 0, 6 + 8, 4},
	} {
		r, f := forked(t, original, name, x.epoch, x.typed)
		if f.Whole != x.whole || f.From != x.from {
			t.Errorf("%s: whole up to epoch %d, then before %v; want %d and %v", name, f.Whole, f.From, x.whole, x.from)
		}
		c, before := count(r), original.Suite.Episodes
		got, err := r.Play(t, nil)
		if err != nil {
			t.Fatal(err)
		}
		clean(t, r)

		tests := 0
		if !f.Tests {
			tests = 9
		} else if got.Best > f.Whole {
			tests = 3
		}
		if n := original.Suite.Episodes - before; n != x.episodes+tests || c.jobs != x.jobs {
			t.Errorf("%s: %d episodes and %d training jobs, want %d and %d", name, n, c.jobs, x.episodes+tests, x.jobs)
		}
		if x.episodes > 0 {
			sameAsSet(t, s, x.epoch, x.typed, name, got)

			continue
		}
		if c.calls != 0 || got.FinalDigest != want.FinalDigest {
			t.Errorf("%s: %d calls and the digest %s, want none and %s", name, c.calls, got.FinalDigest,
				want.FinalDigest)
		}
	}
}

// sameAsSet checks that a fork ended as a run does whose values a person set after the same epoch.
func sameAsSet(t *testing.T, s spec.Spec, epoch int, typed map[string]string, name string, got runs.End) {
	t.Helper()
	s.Epochs = max(s.Epochs, 3)
	r := testrun.WithBase(t, s)
	r.Spec.Epochs = 9 // plays at most so often
	plays := -1
	end, err := r.Play(t, func(*testsuite.TestWorkflowEnvironment) {
		if plays++; plays != min(epoch, 2) { // epochs count immediately, and must before the last one ends
			return
		}
		run := runs.Run(s.Name)
		if n, err := run.Changes(t.Context(), r.Bucket, 0, 0); err != nil || len(n) > 0 {
			return
		}
		ben := runs.Change{Who: "ben", Why: "now"}
		if _, _, err := run.Set(t.Context(), r.Bucket, ben, typed, spec.Source{}, catalog.All{}); err != nil {
			t.Error(err)
		}
	})
	if err != nil || end.FinalDigest != got.FinalDigest {
		t.Errorf("%s: the fork ended with %s, and a run with the same values with %s, %v; want equal digests",
			name, got.FinalDigest, end.FinalDigest, err)
	}
}

// TestAChainOfForksEndsAsOneRun makes six generations, each of which plays one epoch more than the one before: the last
// one ends as a run of all epochs does, and each has as many objects as the one before.
func TestAChainOfForksEndsAsOneRun(t *testing.T) {
	t.Parallel()
	s := threeEpochs()
	s.Epochs, s.Slots, s.Evaluation.Val = 7, 3, 2
	want := play(t, testrun.WithBase(t, s))

	s.Epochs = 1
	r := testrun.WithBase(t, s)
	play(t, r)
	var objects []int
	for n := 1; n <= 6; n++ {
		r, _ = forked(t, r, fmt.Sprint("generation-", n), n, map[string]string{"epochs": fmt.Sprint(n + 1)})
		end, err := r.Play(t, nil)
		if err != nil {
			t.Fatal(err)
		}
		clean(t, r)
		if len(end.Curve) != n+2 {
			t.Errorf("generation %d: the curve has %d points, want those of %d epochs and of the base",
				n, len(end.Curve), n+1)
		}
		own, err := store.Keys(t.Context(), r.Bucket, runs.Run(r.Spec.Name).Prefix())
		if err != nil {
			t.Fatal(err)
		}
		steps := func(key string) bool { return strings.Contains(key, "/steps/") } // as many as the agents need
		objects = append(objects, len(slices.DeleteFunc(own, steps)))
		if n == 6 && (end.FinalDigest != want.FinalDigest || end.Best != want.Best ||
			runs.Digest(end.Curve) != runs.Digest(want.Curve)) {
			t.Errorf("the last generation ended with %+v, want %+v as of one run", end, want)
		}
	}
	if len(slices.Compact(slices.Clone(objects))) != 1 {
		t.Errorf("the generations have %d objects, want as many each", objects)
	}

	copied := *r
	copied.Bucket = &store.Memory{}
	report, err := transfer.Runs(t.Context(), r.Bucket, copied.Bucket, []string{r.Spec.Name}, func(int, int) {})
	if err != nil || len(report.Runs) != 7 {
		t.Fatalf("a copy of the last generation = runs %v, %v; want it and the six before it", report.Runs, err)
	}
	clean(t, &copied)
}

func TestAForkThatWasCutShortGoesOn(t *testing.T) {
	t.Parallel()
	r, want := testrun.Finished(t)
	request := fork.Request{Run: "small", Name: "other", Epoch: 1, Who: "ann", At: time.Now()}
	for writes := 0; ; writes += 40 {
		request.At = request.At.Add(time.Minute) // whoever asks again does so later
		f, err := fork.Plan(t.Context(), r.Bucket, request, spec.Source{}, catalog.All{})
		if err != nil {
			t.Fatal(err)
		}
		err = f.Make(t.Context(), &testrun.Brittle{Bucket: r.Bucket, Left: writes}, func(int) {})
		there, found := runs.Run("other").Spec().Exists(t.Context(), r.Bucket)
		if found != nil || there != (err == nil) {
			t.Fatalf("after %d writes the fork exists: %v, %v; Make = %v; want it to exist if it is whole",
				writes, there, found, err)
		}
		if err == nil {
			break
		}
	}

	// The same command, typed again while the fork goes on, must not bring what the original has made since.
	last := runs.Run("small").Epoch(2)
	commit, err := r.Bucket.Get(t.Context(), last.Key)
	if err != nil {
		t.Fatal(err)
	}
	request.Name = "young"
	for _, body := range [][]byte{nil, commit} {
		r.Bucket.Damage(last.Key, body)
		f, err := fork.Plan(t.Context(), r.Bucket, request, spec.Source{}, catalog.All{})
		if err == nil {
			err = f.Make(t.Context(), r.Bucket, func(int) {})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if n, err := runs.Run("young").Committed(t.Context(), r.Bucket); err != nil || n != 1 {
		t.Errorf("made again, the fork has %d epochs, %v; want the one that the original had at first", n, err)
	}

	r.Spec.Name = "other"
	end, err := r.Play(t, nil)
	if err != nil || end.FinalDigest != want.FinalDigest || r.Suite.Episodes > 0 {
		t.Errorf("the fork ended with %s after %d episodes, %v; want %s without any",
			end.FinalDigest, r.Suite.Episodes, err, want.FinalDigest)
	}
	clean(t, r)
}

func TestImpossibleForksAreRefused(t *testing.T) {
	t.Parallel()
	r, _ := testrun.Finished(t)
	for name, x := range map[string]fork.Request{
		"an epoch to come": {Run: "small", Name: "a", Epoch: 3},
		"before stage 1":   {Run: "small", Name: "a", Epoch: -1},
		"a name taken":     {Run: "small", Name: "small", Epoch: 1},
		"no name":          {Run: "small", Epoch: 1},
		"stage 1":          {Run: "small", Name: "a", Epoch: 1, Typed: map[string]string{"seed": "3"}},
		"a bad value":      {Run: "small", Name: "a", Epoch: 1, Typed: map[string]string{"train.beta": "-1"}},
		"too few epochs":   {Run: "small", Name: "a", Epoch: 2, Typed: map[string]string{"epochs": "1"}},
	} {
		_, err := fork.Plan(t.Context(), r.Bucket, x, spec.Source{}, catalog.All{})
		if fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s: Plan = %v, want an invalid fault", name, err)
		}
	}
	_, err := fork.Plan(t.Context(), r.Bucket, fork.Request{Run: "none", Name: "a"}, spec.Source{}, catalog.All{})
	if !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Plan of a missing run = %v, want %v", err, store.ErrNotFound)
	}
}
