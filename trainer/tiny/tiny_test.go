package tiny

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/policy/tinylm"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/trainer"
)

// pairs returns preferences for the first of two buttons.
func pairs(t *testing.T, n int) []domain.Example {
	t.Helper()

	click := func(index int) string {
		text, err := tinylm.Render(domain.Action{Type: domain.ActionClick}.At(index))
		if err != nil {
			t.Fatal(err)
		}

		return text
	}
	var out []domain.Example
	for i := range n {
		out = append(out, domain.Example{
			Prompt:   fmt.Sprintf("Goal: tap w%d\nHistory: none\nScreen:\n0 button w%d\n1 button v%d\n", i, i, i),
			Chosen:   click(0),
			Rejected: click(1),
			Weight:   1,
		})
	}

	return out
}

// of returns the examples of an objective: for GRPO every second answer is a wrong one.
func of(objective trainer.Objective, pairs []domain.Example) []domain.Example {
	if objective != trainer.GRPO {
		return pairs
	}
	for i := range pairs {
		pairs[i].Advantage = 1
		if i%2 == 1 {
			pairs[i].Chosen, pairs[i].Advantage = pairs[i].Rejected, -1
		}
		pairs[i].Rejected = ""
	}

	return pairs
}

func silent(domain.TrainPoint) {}

func TestAJobKilledAnywhereEndsWithTheBitsOfAnUnbrokenOne(t *testing.T) {
	b := &store.Memory{}
	base, err := store.PutBlob(t.Context(), b, tinylm.New(tinylm.DefaultConfig, 1).Encode())
	if err != nil {
		t.Fatal(err)
	}

	for _, objective := range []trainer.Objective{trainer.SFT, trainer.DPO, trainer.GRPO} {
		t.Run(string(objective), func(t *testing.T) {
			j := trainer.Job{
				ID:        string(objective),
				Start:     base.SHA256,
				Reference: base.SHA256,
				Objective: objective,
				Pairs:     of(objective, pairs(t, 120)),
				Seed:      3,
				Workers:   2,
				Params: domain.TrainParams{
					LearningRate: 1e-3, Warmup: 0.1, FinalShare: 0.1, BatchSize: 4, Passes: 4, Beta: 0.1, Ftx: 0.1,
					Clip: 0.2, KL: 0.01,
				},
			}
			whole, err := (&Trainer{Bucket: b}).Train(t.Context(), j, silent)
			if err != nil {
				t.Fatal(err)
			}
			if whole.Steps != 120 || len(whole.Curve) != 120 {
				t.Fatalf("%d steps and %d points, want 120 and 120", whole.Steps, len(whole.Curve))
			}
			if first, last := whole.Curve[0].Loss, whole.Curve[119].Loss; last >= first {
				t.Fatalf("the loss goes from %v to %v, want it to fall", first, last)
			}

			tr := &Trainer{Bucket: b, CheckpointKey: func(job string, step int) string {
				return fmt.Sprintf("%s/%d.json", job, step)
			}}
			first := 0
			for _, stop := range []int{30, 75, 110} {
				first = trainUntil(t, tr, j, stop)
			}
			if first != 51 {
				t.Errorf("the third attempt began at step %d, want 51, after checkpoint 50", first)
			}

			again, err := tr.Train(t.Context(), j, silent)
			if err != nil {
				t.Fatal(err)
			}
			if again.Digest != whole.Digest {
				t.Errorf("policy %s after three interruptions, want %s", again.Digest, whole.Digest)
			}
			if len(again.Curve) != len(whole.Curve) {
				t.Errorf("%d points, want %d", len(again.Curve), len(whole.Curve))
			}
		})
	}
}

// trainUntil cancels a job at a step, and returns the step at which it began.
func trainUntil(t *testing.T, tr *Trainer, j trainer.Job, stop int) (first int) {
	t.Helper()

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := tr.Train(ctx, j, func(p domain.TrainPoint) {
		if first == 0 {
			first = p.Step
		}
		if p.Step == stop {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("error = %v, want %v", err, context.Canceled)
	}

	return first
}

func TestAnUnknownObjectiveIsRefused(t *testing.T) {
	_, err := (&Trainer{Bucket: &store.Memory{}}).Train(t.Context(), trainer.Job{Objective: "ppo"}, silent)
	if got := fault.KindOf(err); err == nil || got != fault.Invalid {
		t.Errorf("error = %v of kind %s, want one of kind %s", err, got, fault.Invalid)
	}
}

// still trains a job on some pairs at a rate that changes nothing, so that the loss of a step is that of its examples.
func still(t *testing.T, rows []domain.Example, passes int) trainer.Result {
	t.Helper()
	got, err := (&Trainer{Bucket: &store.Memory{}}).Train(t.Context(), trainer.Job{
		Objective: trainer.SFT, Pairs: rows, Seed: 3,
		Params: domain.TrainParams{LearningRate: 1e-30, BatchSize: 1, Passes: passes},
	}, silent)
	if err != nil {
		t.Fatal(err)
	}

	return got
}

func TestEveryPassHasItsOwnOrder(t *testing.T) {
	const n = 12
	var passes [2][]float64
	for i, p := range still(t, pairs(t, n), len(passes)).Curve {
		passes[i/n] = append(passes[i/n], p.Loss)
	}
	if slices.Equal(passes[0], passes[1]) {
		t.Errorf("the passes have the losses %v, want other orders", passes)
	}
	for i := range passes {
		slices.Sort(passes[i])
	}
	if !slices.Equal(passes[0], passes[1]) {
		t.Errorf("sorted, the passes have the losses %v, want the same: every example once", passes)
	}
}

func TestRightAnswersAreRowsBesideThePairs(t *testing.T) {
	b := &store.Memory{}
	base, err := store.PutBlob(t.Context(), b, tinylm.New(tinylm.DefaultConfig, 1).Encode())
	if err != nil {
		t.Fatal(err)
	}
	rows := pairs(t, 4)
	for i := range 2 {
		row := pairs(t, 6)[4+i]
		row.Rejected, row.Source = "", domain.SourceNone
		rows = append(rows, row)
	}
	rows[5].Chosen = "what?"
	job := trainer.Job{
		ID: "right", Objective: trainer.DPO, Pairs: rows, Start: base.SHA256, Reference: base.SHA256,
		Params: domain.TrainParams{LearningRate: 1e-30, BatchSize: 9, Passes: 1, Beta: 1, SFT: 1},
	}
	losses := map[float64]float64{}
	for weight, skipped := range map[float64][2]int{0: {2, 0}, 0.5: {0, 1}, 1: {0, 1}} {
		job.Params.SFT = weight
		got, err := (&Trainer{Bucket: b}).Train(t.Context(), job, silent)
		if err != nil {
			t.Fatal(err)
		}
		if left := [2]int{got.Skipped, got.SkippedRight}; left != skipped {
			t.Errorf("weight %v: %d pairs and %d right answers are left out, want %v", weight, left[0], left[1],
				skipped)
		}
		losses[weight] = got.Curve[0].Loss
	}
	// At the reference, every pair loses log 2. The loss of the right answer grows with its weight.
	half, whole := 5*losses[0.5]-4*losses[0], 5*losses[1]-4*losses[0]
	if half <= 0 || math.Abs(whole-2*half) > 1e-6 {
		t.Errorf("a right answer costs %v at half of the weight and %v at the whole, want twice as much", half, whole)
	}
}

func TestALossThatIsNotANumberEndsTheJob(t *testing.T) {
	rows := pairs(t, 4)
	rows[2].Weight = math.NaN()
	got := still(t, rows, 1)
	if got.Digest != "" || !strings.Contains(got.Diverged, "the loss is not a number") {
		t.Errorf("policy %q, diverged %q, want no policy and the reason", got.Digest, got.Diverged)
	}
}

func TestTheLearningRateRisesAndFalls(t *testing.T) {
	p := domain.TrainParams{LearningRate: 8, Warmup: 0.2, FinalShare: 0.25}
	for step, want := range map[int]float64{0: 4, 2: 8, 6: 5, 10: 2} {
		if got := Rate(p, step, 10); math.Abs(got-want) > 1e-9 {
			t.Errorf("the rate of step %d is %v, want %v", step, got, want)
		}
	}
}
