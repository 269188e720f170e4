package tiny

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/policy/tinylm"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/trainer"
)

func pairs(n int) []domain.Pair {
	var out []domain.Pair
	for i := range n {
		p := domain.Pair{Prompt: fmt.Sprintf("Goal: tap w%d\nHistory: none\nScreen:\n0 button w%d\n1 button v%d\n", i, i, i), Weight: 1}
		p.Chosen, _ = tinylm.Render(domain.Action{Type: domain.ActionClick}.At(0))
		p.Rejected, _ = tinylm.Render(domain.Action{Type: domain.ActionClick}.At(1))
		out = append(out, p)
	}
	return out
}

func TestAJobKilledAnywhereEndsWithTheBitsOfAnUnbrokenOne(t *testing.T) {
	b := &store.Memory{}
	base, err := store.PutBlob(t.Context(), b, tinylm.New(tinylm.DefaultConfig, 1).Encode())
	if err != nil {
		t.Fatal(err)
	}
	for _, objective := range []trainer.Objective{trainer.SFT, trainer.DPO} {
		j := trainer.Job{ID: string(objective), Start: base.SHA256, Reference: base.SHA256, Objective: objective, Pairs: pairs(120), Seed: 3, Workers: 2,
			Params: domain.TrainParams{LearningRate: 1e-3, Warmup: 0.1, FinalShare: 0.1, BatchSize: 4, Passes: 4, Beta: 0.1, Ftx: 0.1}}
		whole, err := (&Trainer{Bucket: b}).Train(t.Context(), j, func(domain.TrainPoint) {})
		if err != nil {
			t.Fatal(err)
		}
		if whole.Steps != 120 || len(whole.Curve) != 120 || whole.Curve[119].Loss >= whole.Curve[0].Loss {
			t.Fatalf("%+v", whole)
		}
		key := func(job string, step int) string { return fmt.Sprintf("%s/%d.json", job, step) }
		first := 0
		for _, stop := range []int{30, 75, 110} {
			ctx, cancel := context.WithCancel(t.Context())
			began := -1
			_, err := (&Trainer{Bucket: b, CheckpointKey: key}).Train(ctx, j, func(p domain.TrainPoint) {
				if began < 0 {
					began = p.Step
				}
				if p.Step == stop {
					cancel()
				}
			})
			if !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			first = began
		}
		if first != 51 {
			t.Errorf("the third try began at step %d, not behind checkpoint 50", first)
		}
		again, err := (&Trainer{Bucket: b, CheckpointKey: key}).Train(t.Context(), j, func(domain.TrainPoint) {})
		if err != nil || again.Digest != whole.Digest || len(again.Curve) != len(whole.Curve) {
			t.Fatalf("%s: %v, %v, want %v", objective, again.Digest, err, whole.Digest)
		}
	}
	if _, err := (&Trainer{Bucket: b}).Train(t.Context(), trainer.Job{Objective: "ppo"}, nil); fault.KindOf(err) != fault.Invalid {
		t.Fatal(err)
	}
}
