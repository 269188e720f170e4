package grade

import (
	"context"
	"fmt"
	"slices"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
)

// pair records the pairs of an episode that is labelled, and returns their number. The adversary's answers, and what
// became of them, are recorded with the pairs.
func (g *grading) pair(ctx context.Context) (int, error) {
	recorded := runs.Run(g.Run).Pairs(g.Epoch, g.Slot)
	pairs, ref, err := recorded.Record(ctx, g.Bucket, func() (runs.Pairs, error) { return g.makePairs(ctx) })

	if err := g.check(ctx, pairs.Episode, ref, err); err != nil {
		return 0, err
	}
	specification, err := g.Runs.Spec(ctx, g.Run, g.Epoch)
	if specification.LearnsRight() {
		compared, _ := rules.SplitRows(pairs.Pairs)

		return len(compared), err
	}

	return len(pairs.Pairs), err
}

func (g *grading) makePairs(ctx context.Context) (runs.Pairs, error) {
	specification, err := g.Runs.Spec(ctx, g.Run, g.Epoch)
	if err != nil {
		return runs.Pairs{}, err
	}
	if err := g.Runs.CheckVersions(ctx, specification, g.Epoch, nil); err != nil {
		return runs.Pairs{}, err
	}
	episode, err := g.episode(ctx)
	if err != nil {
		return runs.Pairs{}, err
	}
	out := runs.Pairs{Episode: episode.ref, Credit: g.creditsRef, Calls: []runs.Call{}, Pairs: []domain.Example{}}
	planned, err := g.Runs.EpochSlots(ctx, g.Run, g.Epoch)
	if err != nil {
		return out, err
	}
	pairing := rules.Pairing(specification, planned.Topology, episode.Slot)
	labelled := credit.Episode{
		Slot: g.Slot, Template: episode.Slot.Task.Template, Steps: episode.steps, Credits: g.credits.Steps,
	}
	if specification.Preference == spec.PreferenceGRPO {
		samples, counts := credit.Samples(pairing, labelled)
		out.Pairs = append(out.Pairs, samples...)
		out.Counts = counts

		return out, nil
	}

	maker := credit.Maker{Rules: pairing}
	maker.Adversary, err = g.adversary(specification, episode, planned.Slots.System.Digests(), &out.Calls)
	if err != nil {
		return out, err
	}
	maker.Grade, err = g.Feedback.Grader(specification, episode.Slot, &out.Audit)
	if err != nil {
		return out, err
	}
	var listening *credit.Listening
	if labelsMessages(specification) {
		listening, err = g.listening(ctx, specification, episode, g.credits.Heard, &out.HeardAudit)
		if err != nil {
			return out, err
		}
		maker.Substitute = listening.Substitute
	}
	pairs, counts, err := maker.Pairs(ctx, labelled)
	out.Pairs = append(out.Pairs, pairs...)
	out.Counts = counts
	if listening != nil {
		out.Heard = callsOf(listening)
	}

	return out, err
}

// adversary returns the adversary of an episode. Its calls are appended to calls, one for each agent that learns from
// the answers. Only the first of several calls with the same seed has a usage, because they are one call of a model.
func (g *grading) adversary(
	specification spec.Spec, episode Episode, policies []string, calls *[]runs.Call,
) (credit.Adversary, error) {
	propose, err := g.Feedback.Proposer(specification, policies)

	return func(ctx context.Context, step domain.Step, cell domain.Cell, n int) ([]credit.Proposal, error) {
		call := runs.Call{
			Step: step.Number, Agent: cell.Agent, Round: cell.Round,
			Seed: proposalSeed(specification, episode.Slot, step.Number, cell),
		}
		if err := propose(ctx, step, cell, n, &call); err != nil {
			if fault.KindOf(err) == fault.Refused {
				call.Refused = agents.Refusal(err)
				*calls = append(*calls, call)
			}

			return nil, err
		}
		if slices.ContainsFunc(*calls, func(earlier runs.Call) bool { return earlier.Seed == call.Seed }) {
			call.Usage = domain.Usage{} // another agent shares the call
		}
		*calls = append(*calls, call)
		g.progress(fmt.Sprintf("step %d, agent %d, round %d", call.Step, call.Agent, call.Round))

		return Proposals(call), nil
	}, err
}
