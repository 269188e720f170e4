package workflows_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/testsuite"

	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/test/kit/testrun"
	"github.com/collabui/collabui/workflows"
)

// denying says once of every existing object with a suffix that it does not exist.
type denying struct {
	store.Bucket
	suffix string

	mu     sync.Mutex
	denied map[string]bool
}

func (f *denying) Get(ctx context.Context, key string) ([]byte, error) {
	raw, err := f.Bucket.Get(ctx, key)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil && strings.HasSuffix(key, f.suffix) && !f.denied[key] {
		f.denied[key] = true

		return nil, fmt.Errorf("%s: %w", key, store.ErrNotFound)
	}

	return raw, err
}

func TestNoPairIsLostIfTheStoreDeniesIt(t *testing.T) {
	t.Parallel()
	want := play(t, testrun.New(t, testrun.Small()))

	r := testrun.New(t, testrun.Small())
	f := &denying{Bucket: r.Bucket, suffix: "/pairs.json", denied: map[string]bool{}}
	r.Deps.Bucket = f
	if got := play(t, r); got.FinalDigest != want.FinalDigest {
		t.Errorf("the final digest is %s, want %s", got.FinalDigest, want.FinalDigest)
	}
	if len(f.denied) == 0 {
		t.Error("the store denied nothing, want it to deny pairs")
	}
}

// An earlier version recorded data sets from which the pairs of denied slots were missing.
func TestAnEpochWithAnIncompleteDataSetIsNotCommitted(t *testing.T) {
	t.Parallel()
	r := testrun.New(t, testrun.Tiny())
	_, _, err := runs.Run(r.Spec.Name).Dataset(1, 2).Record(t.Context(), r.Bucket, func() (runs.Dataset, error) {
		body, err := runs.PutPairs(t.Context(), r.Bucket, nil)

		return runs.Dataset{Agent: 2, Body: body}, err
	})
	if err != nil {
		t.Fatal(err)
	}

	_, err = r.Play(t, func(env *testsuite.TestWorkflowEnvironment) {
		env.RegisterDelayedCallback(func() {
			wantHeld(t, status(t, env), "epochs/0001/agents/2/dataset.json has 0 pairs,", "resume")
			send(t, env, workflows.UpdateStop, workflows.Command{Who: "test", Why: "corrupt"})
		}, time.Hour)
	})
	if err == nil || !strings.Contains(err.Error(), "stopped by test") {
		t.Fatalf("the run ended with %v, want it to wait until it is stopped by test", err)
	}
}
