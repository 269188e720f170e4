package collect_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/collabui/collabui/internal/care/collect"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

func TestCheckpointsOfTrainingThatGoesOnStay(t *testing.T) {
	fresh := finished(t)
	synctest.Test(t, func(t *testing.T) {
		b, r := fresh(), runs.Run("small")
		b.Damage(r.Epoch(2).Key, nil)
		b.Damage(r.End().Key, nil)
		for epoch, kept := range map[int]bool{1: false, 2: true} {
			key := fmt.Sprintf("%sepochs/%04d/agents/0/job-checkpoint-000050.json", r.Prefix(), epoch)
			if _, _, _, err := store.WriteOnce(t.Context(), b, key, epoch); err != nil {
				t.Fatal(err)
			}
			gc(t, b, collect.Policy{})
			if _, err := b.Get(t.Context(), key); kept != (err == nil) {
				t.Errorf("the checkpoint of an agent in epoch %d: %v, want it kept: %v", epoch, err, kept)
			}
		}
	})
}

func TestRetentionKeepsTheBestEpoch(t *testing.T) {
	fresh := threeEpochs(t)
	synctest.Test(t, func(t *testing.T) {
		b, r := fresh(), runs.Run("small")
		end, _, err := r.End().Must(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		end.Best = 1
		b.Damage(r.End().Key, nil)
		if _, _, _, err := r.End().Write(t.Context(), b, end); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			gc(t, b, collect.Policy{Epochs: 1})
		}
		u, _, err := r.Update(1, 0).Must(t.Context(), b)
		if err == nil {
			_, err = store.GetBlob(t.Context(), b, u.Policy.Digest)
		}
		if err != nil {
			t.Errorf("a policy of the best epoch: %v, want it kept", err)
		}
	})
}
