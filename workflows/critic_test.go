package workflows_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"go.temporal.io/sdk/testsuite"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/prompts"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/test/kit/testrun"
	"github.com/collabui/collabui/workflows"
)

func TestAnAdversaryThatIsAModelGivesTheRejectedAnswers(t *testing.T) {
	t.Parallel()
	s := judged()
	s.Adversary.Model = "judge"
	sound, g := withGrader(t, s, 0)
	play(t, sound)
	blinded, again := wantRejectedByModel(t, sound)
	if again != blinded {
		t.Errorf("%d of %d blinded positives were called right again, want all", again, blinded)
	}
	g.wantCallsOnce(t)
	wantSharedProposals(t, sound)

	broken, h := withGrader(t, s, 0.3)
	play(t, broken)
	wantRejectedByModel(t, broken)
	h.wantCallsOnce(t)
	h.wantFewRepeats(t, g.calls)
}

// wantRejectedByModel checks the pairs of epoch 1, and returns how many positives were graded a second time without
// their context, and how many of them were right again.
func wantRejectedByModel(t *testing.T, r *testrun.Run) (blinded, again int) {
	t.Helper()
	sources := map[domain.Source]int{}
	for slot := 1; slot <= r.Spec.Slots; slot++ {
		p := read(t, r, runs.Run("small").Pairs(1, slot))
		for _, x := range p.Pairs {
			sources[x.Source]++
		}
		for _, a := range p.Audit {
			blinded, again = blinded+a.Blinded, again+a.Again
		}
		for _, c := range p.Calls {
			if c.Model != "grader-1" {
				t.Fatalf("an answer of slot %d comes from %q, want grader-1", slot, c.Model)
			}
		}
	}

	if sources[domain.SourceAdversary] < 20 || blinded == 0 {
		t.Errorf("pairs by source %v, %d blinded; want 20 of the adversary, and some blinded", sources, blinded)
	}

	return blinded, again
}

// wantSharedProposals checks that agents with the same right action at a step share a call of the adversary, that it is
// paid for once, and that each agent has its own log-probabilities of the answers.
func wantSharedProposals(t *testing.T, r *testrun.Run) {
	t.Helper()
	recorded := 0
	count := func(_ string, answer runs.Answer) {
		if answer.Role == prompts.Adversary {
			recorded++
		}
	}
	if err := runs.Run("small").Calls(t.Context(), r.Bucket, nil, count); err != nil {
		t.Fatal(err)
	}

	proposed := 0
	own := 0 // answers whose log-probability is another one for the agent that shares the call
	calls := map[uint64]runs.Call{}
	for epoch := 1; epoch <= r.Spec.Epochs; epoch++ {
		for slot := 1; slot <= r.Spec.Slots; slot++ {
			for _, call := range read(t, r, runs.Run("small").Pairs(epoch, slot)).Calls {
				proposed++
				first, shared := calls[call.Seed]
				if !shared {
					calls[call.Seed] = call

					continue
				}
				if !slices.Equal(call.Texts, first.Texts) || call.Agent == first.Agent || call.Usage.Prompt > 0 {
					t.Errorf("%+v shares the call of %+v, want its texts for another agent at no cost", call, first)
				}
				if !slices.Equal(call.LogProbs, first.LogProbs) {
					own++
				}
			}
		}
	}
	if recorded != len(calls) || proposed <= len(calls) || own == 0 {
		t.Errorf("%d calls are recorded for %d seeds and %d agents, %d with log-probabilities of their own; "+
			"want one call per seed, and several agents for some", recorded, len(calls), proposed, own)
	}
}

func TestABudgetThatIsSpentPausesTheRunUntilAPersonRaisesIt(t *testing.T) {
	t.Parallel()
	free, g := withGrader(t, judged(), 0)
	want := play(t, free)
	spent, err := runs.Run("small").Spent(t.Context(), free.Bucket)
	if err != nil {
		t.Fatal(err)
	}
	if spent.Calls != g.calls || spent.Tokens < 1000 || spent.Money <= float64(spent.Tokens)/1e6 {
		t.Fatalf("the run spent %+v, want %d calls, 1000 tokens or more, and their price", spent, g.calls)
	}

	for name, budget := range map[string]spec.Budget{
		"budget.tokens": {Tokens: spent.Tokens / 2},
		"budget.money":  {Money: spent.Money / 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := judged()
			s.Budget = budget
			r, h := withGrader(t, s, 0)
			paused := 0
			end, err := r.Play(t, func(env *testsuite.TestWorkflowEnvironment) {
				env.RegisterDelayedCallback(func() {
					if !status(t, env).Held {
						return // another of the workflows that continue one another
					}
					paused++
					raiseBudget(t, env, r, name, spent)
				}, 3*time.Hour)
			})
			if err != nil {
				t.Fatal(err)
			}
			clean(t, r)

			if paused != 1 {
				t.Errorf("the run paused %d times, want once", paused)
			}
			if h.calls != g.calls || end.FinalDigest != want.FinalDigest {
				t.Errorf("the run ended with %d calls and the digest %s, want %d and %s",
					h.calls, end.FinalDigest, g.calls, want.FinalDigest)
			}
		})
	}
}

// raiseBudget checks that a run pauses because half of what it needs is spent, doubles the budget and resumes the run.
func raiseBudget(
	t *testing.T, env *testsuite.TestWorkflowEnvironment, r *testrun.Run, budget string, whole runs.Spent,
) {
	t.Helper()
	wantHeld(t, status(t, env), budget, "collabui set small "+budget)
	part, err := runs.Run("small").Spent(t.Context(), r.Bucket)
	if err != nil {
		t.Error(err)
	}
	// No call begins that would exceed the budget, if it costs as much as the mean of those before it.
	if half := whole.Tokens / 2; part.Tokens < half*8/10 || part.Tokens > half+half/20 {
		t.Errorf("the run paused after %d tokens, want a little less than %d", part.Tokens, half)
	}

	change := runs.Change{Who: "ann", Why: "one more", Verb: runs.VerbSet, Values: spec.Values{
		"budget.tokens": fmt.Append(nil, 2*whole.Tokens), "budget.money": fmt.Append(nil, 2*whole.Money),
	}}
	record := func() (runs.Change, error) { return change, nil }
	if _, _, err := runs.Run("small").Change(1).Record(t.Context(), r.Bucket, record); err != nil {
		t.Error(err)
	}
	send(t, env, workflows.UpdateResume, workflows.Command{Who: "ann"})
}
