package runs

import (
	"testing"

	"github.com/collabui/collabui/domain"
)

func TestTheDigestOfStepsIsOfWhatMustBeEqualBetweenRuns(t *testing.T) {
	step := func(change func(*Step)) string {
		s := Step{ObservationDigest: "o", Step: domain.Step{Decision: domain.Decision{
			Cells:    []domain.Cell{{Text: "text", Prompt: "prompt"}},
			Executed: domain.Action{Type: domain.ActionWait},
		}}}
		change(&s)

		return StepsDigest([]Step{s})
	}
	want := step(func(*Step) {})
	for name, c := range map[string]struct {
		change func(*Step)
		equal  bool
	}{
		"tokens":          {func(s *Step) { s.Decision.Cells[0].Usage.Answer = 9 }, true},
		"elements seen":   {func(s *Step) { s.Decision.Seen = [][]int{{1, 2}} }, true},
		"a text":          {func(s *Step) { s.Decision.Cells[0].Text = "other" }, false},
		"a prompt":        {func(s *Step) { s.Decision.Cells[0].Prompt = "other" }, false},
		"the observation": {func(s *Step) { s.ObservationDigest = "other" }, false},
		"the action":      {func(s *Step) { s.Decision.Executed.Type = domain.ActionBack }, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := step(c.change); (got == want) != c.equal {
				t.Errorf("digest %s, want it equal to %s: %v", got, want, c.equal)
			}
		})
	}
}
