package stage1

import (
	"context"
	"slices"

	"github.com/collabui/collabui/activities/grade"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/method/synth"
	"github.com/collabui/collabui/internal/records/runs"
)

// preferences makes level 3 along a successful trajectory: the UI agent's response is chosen, the adversary's is
// rejected, on the same prompt. A pair is kept only if the critic labels the chosen one 1 and the rejected one 0, and
// their canonical actions differ. The critic sees both in one call and does not know which is which.
func (m *Models) preferences(
	ctx context.Context, specification spec.Spec, id LevelID, trajectory runs.Trajectory, screens []synth.Screen,
) (synth.Batch, error) {
	batch := synth.Batch{Rows: []domain.Example{}, Counts: synth.NewItemCounts()}
	base, err := m.policyOf(ctx, specification, id)
	if err != nil {
		return batch, err
	}
	propose, err := m.Feedback.Proposer(specification, []string{base})
	if err != nil {
		return batch, err
	}
	target, err := m.Feedback.Wording.Target(specification)
	if err != nil {
		return batch, err
	}

	for _, screen := range screens {
		batch.Counts.Asked++
		batch.Counts.Proposed++
		chosen, why, err := choose(target, trajectory, screen)
		if err != nil {
			return batch, err
		}
		if why != "" {
			batch.Drop(why)
			continue
		}

		pair, why, err := m.preference(ctx, specification, trajectory.Slot, chosen.step, propose)
		if err != nil {
			return batch, err
		}
		if why != "" {
			batch.Drop(why)
			continue
		}
		pair.Image = screen.Image
		batch.Keep(pair, screen.Action.Type, chosen.messages)
	}

	return batch, nil
}

// policyOf returns the policy that the level job starts from, as policy servers know it.
func (m *Models) policyOf(ctx context.Context, specification spec.Spec, id LevelID) (string, error) {
	policy, _, err := policyBefore(ctx, m.Bucket, specification, ChunkID{Run: id.Run, Chunk: id.Chunk})
	if err != nil || policy != "" || specification.FineTune.Base != domain.UntrainedBase {
		return policy, err
	}
	given, _, err := runs.Run(id.Run).Chunk(0).Must(ctx, m.Bucket) // the base model, as Adopt published it

	return given.Policy.Digest, err
}

// choice is a step of a trajectory with the UI agent's response as its only cell.
type choice struct {
	step     domain.Step
	messages bool // the prompt carries messages
}

// choose returns the chosen side of a pair, or why the screen cannot have one.
func choose(target synth.Target, trajectory runs.Trajectory, screen synth.Screen) (choice, string, error) {
	if screen.Action == nil {
		return choice{}, synth.DropAction, nil
	}
	text := screen.Text
	if target.Render != nil {
		var err error
		text, err = target.Render(*screen.Action)
		if err != nil {
			return choice{}, synth.DropForeign, nil
		}
	}

	rng := domain.Rand(trajectory.Slot.Seed, "messages", screen.Step)
	own, peers := target.Messages(rng, text, screen.Observation)
	view := target.View(trajectory.Goal, screen)
	view.History = screen.History
	prompt, err := target.Template.User(view, own, peers)
	if err != nil {
		return choice{}, "", err
	}
	if target.Fits != nil && !target.Fits(prompt, text) {
		return choice{}, synth.DropForeign, nil
	}

	cell := agents.NewCell(0, 0, text, prompt, screen.Observation)
	cell.Image = view.Picture.Digest

	return choice{
		step: domain.Step{
			Number: screen.Step, Goal: trajectory.Goal, History: screen.History, Observation: screen.Observation,
			Right:    screen.Right,
			Decision: domain.Decision{Cells: []domain.Cell{cell}, Executed: *screen.Action, Image: cell.Image},
		},
		messages: own != "" || len(peers) > 0,
	}, "", nil
}

// preference returns the pair of one step, or why there is no pair.
func (m *Models) preference(
	ctx context.Context, given spec.Spec, slot domain.Slot, step domain.Step, propose grade.Proposer,
) (domain.Example, string, error) {
	var audits []credit.Audit
	grader, err := m.Feedback.Grader(given, slot, &audits)
	if err != nil {
		return domain.Example{}, "", err
	}

	// A critic that is a model grades the chosen answer when it sees it among the candidates.
	label := domain.Credit{Step: step.Number, Labels: []domain.Label{domain.Positive}}
	if given.Critic.Model == spec.RoleOracle {
		oracle, err := m.Feedback.Labeller(ctx, given, grade.Episode{Slot: slot, Success: true}, nil)
		if err == nil {
			label, err = oracle(ctx, step)
		}
		if err != nil || label.Labels[0] != domain.Positive {
			return domain.Example{}, synth.DropCritic, err
		}
	}

	adversary := func(ctx context.Context, step domain.Step, cell domain.Cell, n int) ([]credit.Proposal, error) {
		call := runs.Call{Seed: domain.Seed(slot.Seed, "adversary", step.Number)}
		err := propose(ctx, step, cell, n, &call)

		return grade.Proposals(call), err
	}
	onePair := credit.Rules{
		Candidates: given.Adversary.Candidates, Negatives: 1, Cells: credit.LatestCells, PerStep: 1, PerEpisode: 1,
		Answers: rules.Reader(given),
	}
	maker := credit.Maker{Rules: onePair, Adversary: adversary, Grade: grader}
	pairs, _, err := maker.Pairs(ctx, credit.Episode{
		Slot: slot.Number, Template: slot.Task.Template, Steps: []domain.Step{step}, Credits: []domain.Credit{label},
	})
	switch {
	case err != nil:
		return domain.Example{}, "", err
	case slices.ContainsFunc(audits, func(audit credit.Audit) bool { return audit.Again < audit.Blinded }):
		return domain.Example{}, synth.DropCritic, nil
	case len(pairs) == 0:
		return domain.Example{}, synth.DropNoMistake, nil
	}

	return pairs[0], "", nil
}
