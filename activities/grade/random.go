package grade

import (
	"context"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/method/synth"
	"github.com/collabui/collabui/internal/records/runs"
)

// randomProposer returns a proposer of random actions in the wording of a policy. Their log-probabilities stay unknown,
// so that pairs keep the order in which they are drawn instead of the hardest of them.
func randomProposer(target synth.Target) Proposer {
	adversary := credit.RandomAdversary{Family: target.Family, Word: target.Word, Fits: target.Fits}

	return func(_ context.Context, step domain.Step, cell domain.Cell, n int, call *runs.Call) error {
		call.Model = string(spec.RoleRandom)
		call.Texts = adversary.Propose(step, cell, n, call.Seed)

		return nil
	}
}
