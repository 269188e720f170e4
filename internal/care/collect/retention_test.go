package collect_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/care/collect"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/test/kit/testrun"
)

func TestWhatALineAcceptsIsKeptByEveryPolicy(t *testing.T) {
	fresh := finished(t)
	synctest.Test(t, func(t *testing.T) {
		b := fresh()
		end, _, err := runs.Run("small").End().Must(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		other := 3 - end.Best // of two epochs
		promote(t, b, other)
		strict := collect.Policy{Epochs: 1, Calls: time.Minute}
		gc(t, b, strict)
		gc(t, b, strict)
		clean(t, b)
		for epoch := 1; epoch <= 2; epoch++ {
			e, _, err := runs.Run("small").Epoch(epoch).Must(t.Context(), b)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range e.System.Policies {
				if _, err := store.GetBlob(t.Context(), b, p.Digest); err != nil {
					t.Errorf("a policy of epoch %d: %v; want it kept", epoch, err)
				}
			}
		}
	})
}

// threeEpochs returns a copy of the store of a run of three epochs, the last of which is the best, so that nothing
// needs the policies of the first: the second rolled them out.
func threeEpochs(t *testing.T) func() *store.Memory {
	t.Helper()
	s := testrun.Tiny()
	s.Epochs = 3
	r := testrun.New(t, s)
	end, err := r.Play(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	end.Best = 3
	r.Bucket.Damage(runs.Run("small").End().Key, nil)
	if _, _, _, err := runs.Run("small").End().Write(t.Context(), r.Bucket, end); err != nil {
		t.Fatal(err)
	}

	return func() *store.Memory { return clone(t, r.Bucket) }
}

func TestOldPoliciesAreRetiredAndFsckSaysSo(t *testing.T) {
	fresh := threeEpochs(t)
	synctest.Test(t, func(t *testing.T) {
		b := fresh()
		for range 3 {
			gc(t, b, collect.Policy{Epochs: 1})
		}
		report := clean(t, b)
		for epoch := 1; epoch <= 3; epoch++ {
			u, _, err := runs.Run("small").Update(epoch, 0).Must(t.Context(), b)
			if err != nil {
				t.Fatal(err)
			}
			_, err = store.GetBlob(t.Context(), b, u.Policy.Digest)
			kept := epoch > 1
			if kept != (err == nil) || !kept && (!errors.Is(err, store.ErrAbsent) || report.Retired == 0) {
				t.Errorf("a policy of epoch %d: %v, and %d are retired; want it kept: %v",
					epoch, err, report.Retired, kept)
			}
		}
	})
}

// TestRetentionLetsGoOfWhatOtherProgramsTrained covers policies that the results of other programs name, too. Logs
// stay.
func TestRetentionLetsGoOfWhatOtherProgramsTrained(t *testing.T) {
	fresh := threeEpochs(t)
	synctest.Test(t, func(t *testing.T) {
		b := fresh()
		const old = 1
		blob := func(name string) domain.ArtifactFile {
			ref, err := store.PutBlob(t.Context(), b, []byte(name))
			if err != nil {
				t.Fatal(err)
			}

			return domain.ArtifactFile{Path: name, Key: ref.Key, SHA256: ref.SHA256, Size: ref.Size}
		}
		weights, log := blob("weights"), blob("log")
		u, _, err := runs.Run("small").Update(old, 0).Must(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		u.Report = &domain.TrainReport{Files: []domain.ArtifactFile{weights}, Log: &log}
		key := runs.Run("small").Update(old, 0).Key
		b.Damage(key, nil)
		if _, _, _, err := runs.Run("small").Update(old, 0).Write(t.Context(), b, u); err != nil {
			t.Fatal(err)
		}
		result := strings.TrimSuffix(key, "update.json") + "job-checkpoint-result.json"
		if _, _, _, err := store.WriteOnce(t.Context(), b, result, u.Report); err != nil {
			t.Fatal(err)
		}

		for range 3 {
			gc(t, b, collect.Policy{Epochs: 1})
		}
		if _, err := b.Get(t.Context(), weights.Key); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("the weights of epoch %d: %v, want them gone", old, err)
		}
		if _, err := b.Get(t.Context(), log.Key); err != nil {
			t.Errorf("the log of epoch %d: %v, want it kept", old, err)
		}
	})
}

func TestOldCallsAreRemovedAndWhatTheyTookIsKept(t *testing.T) {
	fresh := finished(t)
	synctest.Test(t, func(t *testing.T) {
		b := fresh()
		run := runs.Run("small")
		for _, id := range []string{"aa1", "bb2"} {
			answer := runs.Answer{Cost: 2, Usage: domain.Usage{Prompt: 10, Answer: 1}}
			if _, _, err := run.Call(id).Record(t.Context(), b, func() (runs.Answer, error) {
				return answer, nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		before, err := run.Spent(t.Context(), b)
		if err != nil || before.Calls != 2 || before.Money != 4 {
			t.Fatalf("Spent = %+v, %v; want two calls for 4", before, err)
		}
		gc(t, b, collect.Policy{Calls: 3 * grace})
		if left := list(t, b, run.CallsPrefix()); len(left) != 2 {
			t.Errorf("%v are left, want both calls, which are younger", left)
		}
		gc(t, b, collect.Policy{Calls: grace})
		if left := list(t, b, run.CallsPrefix()); len(left) > 0 {
			t.Errorf("%v are left, want no call", left)
		}
		if after, err := run.Spent(t.Context(), b); err != nil || after != before {
			t.Errorf("Spent = %+v, %v; want what the calls took, %+v", after, err, before)
		}
		clean(t, b)
	})
}
