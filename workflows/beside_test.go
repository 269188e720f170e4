package workflows_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters/scripted"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/test/kit/testrun"
	"github.com/collabui/collabui/trainer"
	"github.com/collabui/collabui/workflows"
)

// ordered is a bucket that remembers in which order objects were written.
type ordered struct {
	store.Bucket
	held  string      // the key of an object that is held back
	until func() bool // for some time

	mu   sync.Mutex
	keys []string
}

// hold holds an object back until an epoch has pairs, so that their order does not depend on the speed of a machine.
// If they wait for the object, it is written after all, and the order shows it.
func (b *ordered) hold(key, until string) {
	b.held, b.until = key, func() bool { return b.count(until) > 0 }
}

func (b *ordered) PutOnce(ctx context.Context, key string, body []byte) (bool, error) {
	for end := time.Now().Add(time.Minute); key == b.held && time.Now().Before(end) && !b.until(); {
		time.Sleep(5 * time.Millisecond)
	}
	fresh, err := b.Bucket.PutOnce(ctx, key, body)
	if fresh {
		b.mu.Lock()
		b.keys = append(b.keys, key)
		b.mu.Unlock()
	}

	return fresh, err
}

// count counts the slots of an epoch that have their pairs.
func (b *ordered) count(prefix string) int {
	b.mu.Lock()
	defer b.mu.Unlock()

	return pairsIn(b.keys, prefix)
}

// beside counts the slots of an epoch that had their pairs before an object was written. -1: it was not written.
func (b *ordered) beside(prefix, before string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := slices.Index(b.keys, before)
	if at < 0 {
		return -1
	}

	return pairsIn(b.keys[:at], prefix)
}

func pairsIn(keys []string, prefix string) (n int) {
	for _, key := range keys {
		if strings.HasPrefix(key, prefix) && strings.Contains(key, "/pairs") {
			n++
		}
	}

	return n
}

// watched returns a run of three epochs that begins with a base policy, and the order of what it writes.
func watched(t *testing.T, change func(*spec.Spec)) (*testrun.Run, *ordered) {
	t.Helper()
	s := testrun.Small()
	s.Epochs, s.Slots, s.Evaluation.TestSeeds, s.Evaluation.TestTemplates = 3, 6, 0, 0
	change(&s)
	r := testrun.WithBase(t, s)
	b := &ordered{Bucket: r.Bucket}
	r.Deps.Bucket = b

	return r, b
}

// stale lets policies lag.
func stale(s *spec.Spec) { s.Staleness, s.Gates.MaxValDrop = 1, 1 }

// pairsPrefix is where the pairs of an epoch are.
func pairsPrefix(r *testrun.Run, epoch int) string {
	return strings.TrimSuffix(runs.Run(r.Spec.Name).EpisodePrefix(epoch, 1), "episodes/0001/")
}

func TestAnEpochRollsOutBesideTheEvaluationOfTheOneBefore(t *testing.T) {
	t.Parallel()
	r, order := watched(t, func(s *spec.Spec) { s.Gates.MaxValDrop = 1 })
	run := runs.Run(r.Spec.Name)
	val := rules.EvalID(rules.EpochFolder(1), rules.TrainedName(r.Spec.Agents), domain.SplitVal)
	order.hold(run.Result(val).Key, pairsPrefix(r, 2))
	end := play(t, r)

	if n := order.beside(pairsPrefix(r, 2), run.Update(1, 3).Key); n != 0 {
		t.Errorf("%d slots of epoch 2 were played before the policies of epoch 1 were trained, want none", n)
	}
	if n := order.beside(pairsPrefix(r, 2), run.Result(val).Key); n < 1 {
		t.Error("no slot of epoch 2 was played before epoch 1 was evaluated, want some")
	}

	waits, order := watched(t, func(s *spec.Spec) { s.Gates.MaxValDrop = 0.99 })
	if got := play(t, waits); got.FinalDigest != end.FinalDigest {
		t.Errorf("the final digest of a run that waits for val = %s, want %s", got.FinalDigest, end.FinalDigest)
	}
	if n := order.beside(pairsPrefix(waits, 2), run.Epoch(1).Key); n != 0 {
		t.Errorf("%d slots of epoch 2 were played before the commit, on which its policies depend, want none", n)
	}
}

func TestStalePoliciesLagByOneUpdate(t *testing.T) {
	t.Parallel()
	r, order := watched(t, stale)
	run := runs.Run(r.Spec.Name)
	order.hold(run.Update(1, 0).Key, pairsPrefix(r, 2))
	end := play(t, r)

	if n := order.beside(pairsPrefix(r, 2), run.Update(1, 0).Key); n < 1 {
		t.Errorf("no slot of epoch 2 was played before an agent of epoch 1 was trained, want some")
	}
	for epoch, want := range map[int]int{1: 0, 2: 0, 3: 1} {
		if got := read(t, r, run.Slots(epoch)).System.Version; got != want {
			t.Errorf("epoch %d is rolled out by version %d, want %d", epoch, got, want)
		}
	}
	made := read(t, r, run.Epoch(1)).System
	if got := read(t, r, run.Update(2, 0)); got.Parent != made.Policies[0] || made.Version != 1 {
		t.Errorf("epoch 2 trains %v further, want what epoch 1 made: %v", got.Parent, made)
	}
	fresh, _ := watched(t, func(s *spec.Spec) { s.Gates.MaxValDrop = 1 })
	if play(t, fresh).FinalDigest == end.FinalDigest {
		t.Errorf("the digest is that of a run whose policies do not lag, want another one")
	}

	again, _ := watched(t, stale)
	for _, n := range []string{"a", "b", "c"} {
		again.Suite.Break(scripted.Fault{Template: n, Step: 2, Kind: scripted.Void, Times: 3})
	}
	if got := play(t, again).FinalDigest; got != end.FinalDigest {
		t.Errorf("the final digest after environments broke = %s, want %s", got, end.FinalDigest)
	}
}

// TestAValueIsLearntFromAllEpisodesBefore lets the value of an epoch's labels wait for the epoch before.
func TestAValueIsLearntFromAllEpisodesBefore(t *testing.T) {
	t.Parallel()
	r, _ := watched(t, func(s *spec.Spec) {
		stale(s)
		s.Credit, s.Preference = spec.CreditAdvantage, spec.PreferenceRFT
	})
	play(t, r)
	for epoch := 1; epoch <= r.Spec.Epochs; epoch++ {
		want := (epoch - 1) * r.Spec.Slots
		if got := read(t, r, runs.Run(r.Spec.Name).Value(epoch)).Episodes; got != want {
			t.Errorf("the value of epoch %d is learnt from %d episodes, want %d", epoch, got, want)
		}
	}
}

// onceBroken is a trainer whose first job needs a person.
type onceBroken struct {
	trainer.Trainer
	once sync.Once
}

func (x *onceBroken) Train(ctx context.Context, j trainer.Job, p trainer.Progress) (r trainer.Result, err error) {
	x.once.Do(func() { err = fault.New(fault.Invalid, "the disk is full") })
	if err != nil {
		return r, err
	}

	return x.Trainer.Train(ctx, j, p)
}

func TestAFailedUpdateLosesNoRolloutAhead(t *testing.T) {
	t.Parallel()
	whole, _ := watched(t, stale)
	want := play(t, whole).FinalDigest

	r, _ := watched(t, stale)
	r.Deps.Trainers[spec.Embedded] = &onceBroken{Trainer: r.Deps.Trainers[spec.Embedded]}
	asked := false
	end, err := r.Play(t, func(env *testsuite.TestWorkflowEnvironment) {
		env.RegisterDelayedCallback(func() {
			if asked {
				return
			}
			asked = true
			wantHeld(t, status(t, env), "the disk is full")
			send(t, env, workflows.UpdateResume, workflows.Command{Who: "test", Why: "there is room"})
		}, time.Hour)
	})
	if err != nil || end.FinalDigest != want || !asked {
		t.Errorf("the run ended with %s, %v (held: %v), want %s", end.FinalDigest, err, asked, want)
	}
	clean(t, r)
}

func TestAStopAfterAnEpochEndsTheRolloutsAhead(t *testing.T) {
	t.Parallel()
	r, _ := watched(t, func(s *spec.Spec) {
		stale(s)
		s.Slots, s.Window = 12, 1
	})
	_, err := r.Play(t, func(env *testsuite.TestWorkflowEnvironment) {
		atFirst(env, "PlanAhead", func() {
			send(t, env, workflows.UpdateStop, workflows.Command{
				Who: "ann", Why: "lunch", After: workflows.AfterEpoch,
			})
		})
	})
	var stopped *temporal.ApplicationError
	if !errors.As(err, &stopped) || stopped.Type() != workflows.ErrStopped {
		t.Fatalf("the run ended with %v, want it stopped", err)
	}
	run := runs.Run(r.Spec.Name)
	if n, err := run.Committed(t.Context(), r.Bucket); err != nil || n != 1 {
		t.Errorf("%d epochs are committed, %v; want 1", n, err)
	}
	if there, err := run.Pairs(2, r.Spec.Slots).Exists(t.Context(), r.Bucket); err != nil || there {
		t.Errorf("the last slot of epoch 2 is played: %v, %v; want it left to a run that goes on", there, err)
	}

	whole, _ := watched(t, func(s *spec.Spec) {
		stale(s)
		s.Slots, s.Window = 12, 1
	})
	want := play(t, whole).FinalDigest
	if got := play(t, r).FinalDigest; got != want {
		t.Errorf("the final digest of the run that went on = %s, want %s", got, want)
	}
}
