package view_test

import (
	"reflect"
	"testing"

	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/view"
)

func TestTheVoteIsThatOfTheScopeOfTheSpecification(t *testing.T) {
	const id = "final/trained-2/val"
	for _, c := range []struct {
		scope   agents.VoteScope
		rule    string
		ties    any
		caption string
	}{
		{agents.ScopeAll, "last-round", 1.0, "Votes: 2 of 4; a tie: the one with more votes in the last round"},
		{agents.ScopeLast, "majority", nil, "Votes of the last round: 1 of 2; more votes than any other"},
	} {
		t.Run(string(c.scope), func(t *testing.T) {
			var b store.Memory
			run := crafted(t, &b, func(s *spec.Spec) { s.VoteScope = c.scope })
			slots, _, err := run.Slots(1).Must(t.Context(), &b)
			if err != nil {
				t.Fatal(err)
			}
			step := hostileStep()
			step.Decision.LastOnly.Rule = "majority"
			play(t, &b, run, slots.Slots[4], 1, step) // it has not begun
			record(t, &b, run.EvalEpisode(id, 1), runs.EvalEpisode{
				Steps: []runs.EvalStep{runs.NewEvalStep(step.Goal, step.Observation, step.Decision)},
			})
			record(t, &b, run.Result(id), runs.NewResult("trained-2", "val", 0, 1, 0, "plain"))

			l := library(&b, 1)
			if got := at(t, document(t, l, "rows/crafted/1"), 4, "ties"); got != c.ties {
				t.Errorf("got %v ties, want %v", got, c.ties)
			}
			played := at(t, document(t, l, "episodes/crafted/1/5"), "5", "steps", 0, "vote", "rule")
			evaluated := at(t, document(t, l, "evaluations/crafted/"+id+"/1"), "1", "steps", 0, "vote", "rule")
			if got := []any{played, evaluated}; !reflect.DeepEqual(got, []any{c.rule, c.rule}) {
				t.Errorf("what decided is said to be %v, want %s twice", got, c.rule)
			}

			e, err := view.ReadEpisode(t.Context(), &b, run, 1, 5)
			if err != nil {
				t.Fatal(err)
			}
			want := map[agents.VoteScope]int{agents.ScopeAll: 4, agents.ScopeLast: 2}[c.scope]
			if _, voters := e.Vote(0); voters != want {
				t.Errorf("got %d answers that vote, want %d", voters, want)
			}

			x := newTab(t)
			x.open(serve(t, &b, string(run)), "document.querySelector('h1')")
			x.page("#/episode/crafted/1/5", c.caption)
			x.page("#/evaluation/crafted/final%2Ftrained-2%2Fval/1", c.caption)
			x.quiet()
		})
	}
}
