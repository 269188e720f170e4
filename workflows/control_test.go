package workflows_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/test/kit/testrun"
	"github.com/collabui/collabui/workers/catalog"
	"github.com/collabui/collabui/workflows"
)

// atFirst calls f once, when an activity of a name first starts.
func atFirst(env *testsuite.TestWorkflowEnvironment, name string, f func()) {
	done := false
	env.SetOnActivityStartedListener(func(i *activity.Info, _ context.Context, _ converter.EncodedValues) {
		if i.ActivityType.Name == name && !done {
			done = true
			env.RegisterDelayedCallback(f, 0)
		}
	})
}

// threeEpochs is a run without tests whose epochs are small.
func threeEpochs() spec.Spec {
	s := testrun.Small()
	s.Epochs, s.Slots, s.Evaluation.TestSeeds, s.Evaluation.TestTemplates = 3, 6, 0, 0

	return s
}

// updated is what became of an update.
type updated struct {
	rejected, failed error
	change           runs.Change
}

// ask sends the update that changes values.
func ask(env *testsuite.TestWorkflowEnvironment, c workflows.SetCommand) *updated {
	a := &updated{}
	env.UpdateWorkflow(workflows.UpdateSet, "", &testsuite.TestUpdateCallback{
		OnAccept: func() {},
		OnReject: func(err error) { a.rejected = err },
		OnComplete: func(v any, err error) {
			a.failed = err
			a.change, _ = v.(runs.Change)
		},
	}, c)

	return a
}

func TestChangedValuesCountFromTheNextEpochOn(t *testing.T) {
	t.Parallel()
	s := threeEpochs()
	typed := map[string]string{"train.beta": "0.3", "slots": "5", "decoding.temperatures": "[0.4]", "epochs": "2"}
	ann := workflows.SetCommand{Command: workflows.Command{Who: "ann", Why: "too flat"}, Values: typed}

	live := testrun.WithBase(t, s)
	var got, bad, nobody *updated
	first := true
	end, err := live.Play(t, func(env *testsuite.TestWorkflowEnvironment) {
		if !first {
			return
		}
		first = false
		atFirst(env, "CreditAndPairing", func() {
			got = ask(env, ann)
			bad = ask(env, workflows.SetCommand{
				Command: ann.Command, Values: map[string]string{"train.beta": "-1", "seed": "3"},
			})
			nobody = ask(env, workflows.SetCommand{Values: typed})
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	clean(t, live)

	switch {
	case got.rejected != nil || got.failed != nil || got.change.Who != "ann" || got.change.At.IsZero():
		t.Errorf("the change is answered by %+v, want it recorded with who and when", got)
	case bad.failed == nil || !strings.Contains(bad.failed.Error(), "seed: cannot be changed in a run"):
		t.Errorf("an impossible change is answered by %+v, want an error that names seed", bad)
	case nobody.rejected == nil:
		t.Errorf("a change by nobody is answered by %+v, want it rejected", nobody)
	}
	run := runs.Run(s.Name)
	for epoch, want := range map[int]int{1: 6, 2: 5} {
		if got := len(read(t, live, run.Slots(epoch)).Slots); got != want {
			t.Errorf("epoch %d has %d slots, want %d", epoch, got, want)
		}
		now, err := run.At(t.Context(), live.Bucket, epoch)
		if err != nil || now.Slots != want || (now.Train.Beta == 0.3) != (epoch == 2) {
			t.Errorf("epoch %d has %d slots and β %v, %v; want %d and the change from epoch 2 on",
				epoch, now.Slots, now.Train.Beta, err, want)
		}
	}
	if n, err := run.Committed(t.Context(), live.Bucket); err != nil || n != 2 {
		t.Errorf("%d epochs are committed, %v; want 2, as it was set", n, err)
	}

	// The same change between two epochs of a run that nobody runs has the same effect.
	stored := testrun.WithBase(t, s)
	plays := 0
	same, err := stored.Play(t, func(*testsuite.TestWorkflowEnvironment) {
		if plays++; plays == 2 {
			change := runs.Change{Who: "ben", Why: "as ann did"}
			_, _, err := run.Set(t.Context(), stored.Bucket, change, typed, spec.Source{}, catalog.All{})
			if err != nil {
				t.Error(err)
			}
		}
	})
	if err != nil || same.FinalDigest != end.FinalDigest {
		t.Errorf("the run ended with %s, %v; want %s", same.FinalDigest, err, end.FinalDigest)
	}
	if plain := play(t, testrun.WithBase(t, s)); plain.FinalDigest == end.FinalDigest {
		t.Errorf("without the change the digest is %s, too; want another", plain.FinalDigest)
	}
}

// TestAStopAfterTheEpochLetsTheLastEvaluationEnd stops a run while it plays its tests.
func TestAStopAfterTheEpochLetsTheLastEvaluationEnd(t *testing.T) {
	t.Parallel()
	s := threeEpochs()
	s.Epochs = 1
	want := play(t, testrun.WithBase(t, s))

	r := testrun.WithBase(t, s)
	end, err := r.Play(t, func(env *testsuite.TestWorkflowEnvironment) {
		atFirst(env, "PlanFinal", func() {
			send(t, env, workflows.UpdateStop, workflows.Command{
				Who: "ann", Why: "lunch", After: workflows.AfterEpoch,
			})
		})
	})
	if err != nil || end.FinalDigest != want.FinalDigest || len(end.Results) != len(want.Results) {
		t.Errorf("the run ended with %s and %d results, %v; want %s and %d", end.FinalDigest, len(end.Results), err,
			want.FinalDigest, len(want.Results))
	}
}

func TestAStopMayWait(t *testing.T) {
	t.Parallel()
	s := threeEpochs()
	s.Epochs, s.Slots = 2, workflows.Window+8
	want := play(t, testrun.WithBase(t, s))

	for after, check := range map[workflows.After]func(played, committed int) bool{
		workflows.AfterEpisodes: func(played, committed int) bool { return played < s.Slots && committed == 0 },
		workflows.AfterEpoch:    func(_, committed int) bool { return committed == 1 },
	} {
		r := testrun.WithBase(t, s)
		_, err := r.Play(t, func(env *testsuite.TestWorkflowEnvironment) {
			atFirst(env, "CreditAndPairing", func() {
				send(t, env, workflows.UpdateStop, workflows.Command{Who: "ann", Why: "lunch", After: after})
			})
		})
		var stopped *temporal.ApplicationError
		if !errors.As(err, &stopped) || stopped.Type() != workflows.ErrStopped {
			t.Fatalf("stop after %s: the run ended with %v, want it stopped", after, err)
		}
		run, played := runs.Run(s.Name), 0
		for slot := 1; slot <= s.Slots; slot++ {
			there, err := run.Pairs(1, slot).Exists(t.Context(), r.Bucket)
			if err != nil {
				t.Fatal(err)
			}
			begun, err := run.Start(1, slot, 1).Exists(t.Context(), r.Bucket)
			if err != nil {
				t.Fatal(err)
			}
			if begun != there {
				t.Errorf("stop after %s: slot %d has begun: %v, and has pairs: %v; want both or none",
					after, slot, begun, there)
			}
			if there {
				played++
			}
		}
		committed, err := run.Committed(t.Context(), r.Bucket)
		if err != nil || !check(played, committed) {
			t.Errorf("stop after %s: %d episodes are played and %d epochs committed, %v; want it to wait for that only",
				after, played, committed, err)
		}
		if c := read(t, r, run.Change(1)); c.Verb != runs.VerbStop || c.Who != "ann" || c.Why != "lunch" {
			t.Errorf("change 1 = %+v, want ann's stop", c)
		}

		if end := play(t, r); end.FinalDigest != want.FinalDigest {
			t.Errorf("stop after %s: the run ended with %s, want %s", after, end.FinalDigest, want.FinalDigest)
		}
	}
}
