package workflows_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/testsuite"

	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/test/kit/testrun"
	"github.com/collabui/collabui/workflows"
)

// TestWhatARunOfTheSameNameFinishesLateIsNotTaken plants what activities of a deleted run record late, under the run
// that has its name now: a person is asked about every one, and the run ends as if there had been none.
func TestWhatARunOfTheSameNameFinishesLateIsNotTaken(t *testing.T) {
	t.Parallel()
	before, _ := testrun.Finished(t)
	s := testrun.Small()
	s.Seed, s.Epochs, s.Slots, s.Evaluation.TestSeeds, s.Evaluation.TestTemplates = 77, 1, 6, 0, 0
	want := play(t, testrun.New(t, s))

	r := testrun.New(t, s)
	run := runs.Run(s.Name)
	late := []string{
		run.Demonstration(3).Key, run.Chunk(1).Key, run.EvalEpisode("epoch-0000/base-4/val", 2).Key, run.Slots(1).Key,
		run.Start(1, 2, 1).Key, run.Attempt(1, 3, 1).Key, run.Step(1, 4, 1, 1).Key, run.Update(1, 1).Key,
		run.Credits(1, 5).Key, run.Pairs(1, 6).Key,
	}
	for _, key := range late {
		body, err := before.Bucket.Get(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		r.Bucket.Damage(key, body)
	}

	said := regexp.MustCompile(`(\S+\.json) was written by another run of this name`)
	asked := map[string]bool{}
	end, err := r.Play(t, func(env *testsuite.TestWorkflowEnvironment) {
		var look func()
		looks := 0
		look = func() {
			if looks++; looks > 100 {
				t.Errorf("after %d hours the run is at %+v, want its end", looks, status(t, env))
				env.CancelWorkflow()

				return
			}
			if st := status(t, env); st.Held {
				key := said.FindStringSubmatch(st.Reason)
				if key == nil || asked[key[1]] {
					t.Errorf("the run waits, because %s; want the name of an object of the other run", st.Reason)
					env.CancelWorkflow()

					return
				}
				asked[key[1]] = true
				r.Bucket.Damage(key[1], nil)
				send(t, env, workflows.UpdateResume, workflows.Command{Who: "ann", Why: "deleted it"})
			}
			env.RegisterDelayedCallback(look, time.Hour)
		}
		env.RegisterDelayedCallback(look, time.Hour)
	})
	if err != nil || end.FinalDigest != want.FinalDigest {
		t.Errorf("the run ended with %s, %v; want %s, as without the other run", end.FinalDigest, err, want.FinalDigest)
	}
	for _, key := range late {
		if !asked[key] {
			t.Errorf("%s was taken, want a person asked", strings.TrimPrefix(key, run.Prefix()))
		}
	}
	clean(t, r)
}
