package grade

import (
	"context"
	"fmt"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/failpoint"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
)

// labelsMessages reports whether a run labels acts of speech by their effects. Without a critic, the outcome labels the
// executed action alone, and no other answer of a reader can be compared with it.
func labelsMessages(specification spec.Spec) bool {
	return specification.Speech && specification.Critic.Messages == spec.MessagesByEffect &&
		specification.Credit == spec.CreditCritic
}

// listening returns how the readers of an episode's messages are sampled again: by the policies and the topology of the
// epoch, with the seeds of their cells. spent holds the calls that were made before, and the answers of a critic that
// is a model are appended to audit.
func (g *grading) listening(
	ctx context.Context, specification spec.Spec, episode Episode, spent []runs.Call, audit *[]credit.Audit,
) (*credit.Listening, error) {
	planned, err := g.Runs.EpochSlots(ctx, g.Run, g.Epoch)
	if err != nil {
		return nil, err
	}
	policies := planned.Slots.System.Digests()
	viewSeed := planned.Slots.Slots[g.Slot-1].Seed // also of a task that replaced the planned one
	decoding, err := rules.Decoding(specification, policies, planned.Topology, viewSeed)
	if err != nil {
		return nil, err
	}
	decoding.Template = rules.Bound(specification, decoding.Template, g.Feedback.Wording.Over)
	propose, err := g.Feedback.Proposer(specification, policies)
	if err != nil {
		return nil, err
	}
	seed := func(step int) uint64 { return domain.Seed(episode.Slot.Seed, "messages", step) }
	grader, err := g.Feedback.grader(specification, episode.Slot, seed, audit)
	if err != nil {
		return nil, err
	}

	out := &credit.Listening{
		Config: decoding,
		// as the step was decided: see internal/method/attempt
		Seed: func(step int) uint64 { return domain.Seed(episode.Slot.Seed, "step", step) },
		Answer: func(ctx context.Context, request chat.Request, asked *credit.Asked) error {
			if err := failpoint.Hit("ask.reader"); err != nil {
				return err
			}
			response, err := g.Feedback.Policies.Complete(ctx, request)
			asked.Texts = response.Texts
			asked.LogProbs = response.LogProbs
			asked.Usage = response.Usage
			g.heard(*asked)

			return err
		},
		Propose: func(ctx context.Context, step domain.Step, cell domain.Cell, n int, asked *credit.Asked) error {
			call := runs.Call(*asked)
			call.Seed = proposalSeed(specification, episode.Slot, step.Number, cell)
			err := propose(ctx, step, cell, n, &call)
			*asked = credit.Asked(call)
			g.heard(*asked)

			return err
		},
		Candidates: specification.Adversary.Candidates, Grade: grader,
		Asks: specification.Critic.Asks, Spent: map[int]int{},
	}
	for _, call := range spent {
		out.Spent[call.Step] += max(1, len(call.Texts))
	}

	return out, nil
}

// heard reports the progress of a call.
func (g *grading) heard(asked credit.Asked) {
	g.progress(fmt.Sprintf("messages of step %d, agent %d, round %d", asked.Step, asked.Agent, asked.Round))
}

// callsOf returns the calls of a listening as they are recorded.
func callsOf(listening *credit.Listening) []runs.Call {
	var out []runs.Call
	for _, asked := range listening.Asked {
		out = append(out, runs.Call(asked))
	}

	return out
}
