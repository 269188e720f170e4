package workflows_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/testsuite"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/care/fork"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/test/kit/testrun"
	"github.com/collabui/collabui/trainer"
	"github.com/collabui/collabui/workers/catalog"
	"github.com/collabui/collabui/workflows"
)

// relabelled asks for a fork of small with other labels in epoch 1.
func relabelled(cells ...runs.Relabel) fork.Request {
	return fork.Request{
		Run: "small", Name: "mended", Epoch: 0, Who: "ann", Why: "it closed the wrong tab", At: time.Now(),
		Cells: cells,
	}
}

func TestAnotherLabelOfACellRecomputesItsPairsAndTheUpdatesAndNothingElse(t *testing.T) {
	t.Parallel()
	r, before := testrun.Finished(t)
	small, mended := runs.Run("small"), runs.Run("mended")
	slot, cell := chosen(t, r)
	f, err := fork.Plan(t.Context(), r.Bucket, relabelled(cell), spec.Source{}, catalog.All{})
	if err != nil || f.Whole != 0 || f.From != spec.StepUpdate {
		t.Fatalf("Plan = whole to %d, then before %v, %v; want the pairs of epoch 1 shared", f.Whole, f.From, err)
	}
	if err := f.Make(t.Context(), r.Bucket, func(int) {}); err != nil {
		t.Fatal(err)
	}
	r.Spec.Name = "mended"
	c, played := count(r), r.Suite.Episodes
	end, err := r.Play(t, nil)
	if err != nil || end.FinalDigest == before.FinalDigest {
		t.Fatalf("the fork ended with %s, %v; want another digest than the original's", end.FinalDigest, err)
	}
	clean(t, r)

	// Epoch 2 has 10 slots; val has 8 episodes per epoch, test-seeds 6 and test-templates 4.
	if n := r.Suite.Episodes - played; n > 8+10+8+6+4 || c.jobs != 2*4 {
		t.Errorf("%d episodes were played and %d policies trained, want those of epoch 2, val and tests, and 8",
			n, c.jobs)
	}
	for n := 1; n <= 10; n++ {
		_, old, err := small.Pairs(1, n).Must(t.Context(), r.Bucket)
		if err != nil {
			t.Fatal(err)
		}
		_, pairs, err := mended.Pairs(1, n).Must(t.Context(), r.Bucket)
		if err != nil || old.Same(pairs) == (n == slot) {
			t.Errorf("the pairs of slot %d are shared: %v, %v; want all shared but those of slot %d",
				n, old.Same(pairs), err, slot)
		}
	}
	changes, err := mended.Changes(t.Context(), r.Bucket, 0, 0)
	if err != nil || len(changes) != 1 || !slices.Equal(changes[0].Cells, []runs.Relabel{cell}) ||
		changes[0].Why != "it closed the wrong tab" {
		t.Errorf("the changes are %+v, %v; want the label, with the reason", changes, err)
	}
}

// chosen returns a cell of epoch 1 from which a pair was made, with the other label.
func chosen(t *testing.T, r *testrun.Run) (slot int, c runs.Relabel) {
	t.Helper()
	for n := 1; n <= 10; n++ {
		pairs := read(t, r, runs.Run("small").Pairs(1, n))
		if len(pairs.Pairs) > 0 {
			p := pairs.Pairs[0]

			return n, runs.Relabel{Slot: n, Step: p.Step, Agent: p.Agent, Round: p.Round, Label: domain.Uncertain}
		}
	}
	t.Fatal("no slot of epoch 1 has pairs, want one")

	return 0, c
}

func TestLabelsThatChangeNothingAreRefused(t *testing.T) {
	t.Parallel()
	r, _ := testrun.Finished(t)
	same := read(t, r, runs.Run("small").Credits(1, 1)).Steps[0].Labels[0]
	for name, c := range map[string]runs.Relabel{
		"no slot":  {Slot: 11, Step: 1},
		"no step":  {Slot: 1, Step: 99},
		"no agent": {Slot: 1, Step: 1, Agent: 9},
		"no round": {Slot: 1, Step: 1, Round: 9},
		"the same": {Slot: 1, Step: 1, Label: same},
	} {
		_, err := fork.Plan(t.Context(), r.Bucket, relabelled(c), spec.Source{}, catalog.All{})
		if fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s: Plan = %v, want an invalid fault", name, err)
		}
	}
	late := relabelled(runs.Relabel{Slot: 1, Step: 1})
	late.Epoch = 2
	_, err := fork.Plan(t.Context(), r.Bucket, late, spec.Source{}, catalog.All{})
	if fault.KindOf(err) != fault.Invalid {
		t.Errorf("Plan for an epoch to come = %v, want an invalid fault", err)
	}
}

func TestAnUpdateThatCannotEndIsLeftOutByAPerson(t *testing.T) {
	t.Parallel()
	s := threeEpochs()
	s.Epochs = 1
	r := testrun.WithBase(t, s)
	r.Deps.Trainers = map[string]trainer.Trainer{spec.Embedded: stuck{r.Deps.Trainers[spec.Embedded]}}
	ann := runs.Decision{Who: "ann", Why: "its rows crash the trainer", At: time.Now()}
	run := runs.Run(s.Name)
	if err := run.SkipUpdate(t.Context(), r.Bucket, 1, 2, ann); fault.KindOf(err) != fault.Invalid {
		t.Errorf("SkipUpdate before there is an update = %v, want an invalid fault", err)
	}
	_, err := r.Play(t, func(env *testsuite.TestWorkflowEnvironment) {
		env.RegisterDelayedCallback(func() {
			wantHeld(t, status(t, env), "cannot be trained on")
			if err := run.SkipUpdate(t.Context(), r.Bucket, 1, 2, ann); err != nil {
				t.Error(err)
			}
			send(t, env, workflows.UpdateResume, workflows.Command{Who: "ann", Why: "without agent 2"})
		}, 2*time.Hour)
	})
	if err != nil {
		t.Fatal(err)
	}
	clean(t, r)
	u := read(t, r, run.Update(1, 2))
	if u.Policy != u.Parent || u.Kept != "left out by ann: its rows crash the trainer" {
		t.Errorf("the update is %+v, want the parent's policy and who decided it", u)
	}
	if err := run.SkipUpdate(t.Context(), r.Bucket, 1, 1, ann); fault.KindOf(err) != fault.Invalid {
		t.Errorf("SkipUpdate of one that has ended = %v, want an invalid fault", err)
	}
}

func TestARowThatNoUpdateEndsWithIsLeftOutByAPerson(t *testing.T) {
	t.Parallel()
	s := threeEpochs()
	s.Epochs = 1
	r := testrun.WithBase(t, s)
	trained := &choosy{Trainer: r.Deps.Trainers[spec.Embedded]}
	r.Deps.Trainers = map[string]trainer.Trainer{spec.Embedded: trained}
	ann := runs.Decision{Who: "ann", Why: "it crashes the trainer", At: time.Now()}
	run := runs.Run(s.Name)
	if err := run.SkipRow(t.Context(), r.Bucket, 1, 2, 7, ann); fault.KindOf(err) != fault.Invalid {
		t.Errorf("SkipRow before there is a data set = %v, want an invalid fault", err)
	}
	_, err := r.Play(t, func(env *testsuite.TestWorkflowEnvironment) {
		env.RegisterDelayedCallback(func() {
			wantHeld(t, status(t, env), "row 7 cannot be trained on")
			if err := run.SkipRow(t.Context(), r.Bucket, 1, 2, 1e6, ann); fault.KindOf(err) != fault.Invalid {
				t.Errorf("SkipRow of a row that is not there = %v, want an invalid fault", err)
			}
			for range 2 { // it may be repeated
				if err := run.SkipRow(t.Context(), r.Bucket, 1, 2, 7, ann); err != nil {
					t.Error(err)
				}
			}
			send(t, env, workflows.UpdateResume, workflows.Command{Who: "ann", Why: "without row 7"})
		}, 2*time.Hour)
	})
	if err != nil {
		t.Fatal(err)
	}
	clean(t, r)

	u, set := read(t, r, run.Update(1, 2)), read(t, r, run.Dataset(1, 2))
	if !slices.Equal(u.Without, []int{7}) || u.Policy == u.Parent || trained.rows != set.Count-1 {
		t.Errorf("the update is %+v with %d of %d rows, want all but row 7", u, trained.rows, set.Count)
	}
	if d := read(t, r, run.RowOut(1, 2, 1)); d.Row != 7 || d.Who != "ann" || d.Why != "it crashes the trainer" {
		t.Errorf("the store has the decision %+v, want who made it and why", d)
	}
	if err := run.SkipRow(t.Context(), r.Bucket, 1, 2, 7, ann); err != nil {
		t.Errorf("SkipRow of a row that was left out = %v, want no error", err)
	}
	if err := run.SkipRow(t.Context(), r.Bucket, 1, 1, 7, ann); fault.KindOf(err) != fault.Invalid {
		t.Errorf("SkipRow of an update that has ended with it = %v, want an invalid fault", err)
	}
}

// choosy is a trainer that fails on row 7 of agent 2. It remembers how many rows that agent was trained on.
type choosy struct {
	trainer.Trainer
	bad  string
	rows int
}

func (c *choosy) Train(ctx context.Context, j trainer.Job, say trainer.Progress) (trainer.Result, error) {
	if !strings.Contains(j.ID, "/agents/2/") {
		return c.Trainer.Train(ctx, j, say)
	}
	id := func(p domain.Example) string { return fmt.Sprint(p.Slot, p.Step, p.Chosen, p.Rejected) }
	if c.bad == "" {
		c.bad = id(j.Pairs[6])
	}
	c.rows = len(j.Pairs)
	if slices.ContainsFunc(j.Pairs, func(p domain.Example) bool { return id(p) == c.bad }) {
		return trainer.Result{}, fault.New(fault.Invalid, "row 7 cannot be trained on")
	}

	return c.Trainer.Train(ctx, j, say)
}

// stuck is a trainer that fails on the data of agent 2.
type stuck struct{ trainer.Trainer }

func (s stuck) Train(ctx context.Context, j trainer.Job, say trainer.Progress) (trainer.Result, error) {
	if strings.Contains(j.ID, "/agents/2/") {
		return trainer.Result{}, fault.New(fault.Invalid, "row 7 cannot be trained on")
	}

	return s.Trainer.Train(ctx, j, say)
}
