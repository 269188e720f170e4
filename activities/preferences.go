package activities

import (
	"context"
	"slices"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/method/synth"
	"github.com/collabui/collabui/internal/records/runs"
)

// preferences makes level 3 along a successful trajectory: the UI agent's response is chosen, the adversary's is
// rejected, on the same prompt. A pair is kept only if the critic says 1 for chosen and 0 for rejected and their
// canonical actions differ. The critic sees both in one call and does not know which is which.
func (m *Models) preferences(
	ctx context.Context, s spec.Spec, id LevelID, t runs.Trajectory, screens []synth.Screen,
) (synth.Batch, error) {
	b := synth.Batch{Rows: []domain.Example{}, Counts: synth.NewItemCounts()}
	base, _, err := m.before(ctx, s, ChunkID{Run: id.Run, Chunk: id.Chunk})
	if err != nil {
		return b, err
	}
	if base == "" && s.FineTune.Base == domain.UntrainedBase { // servers know the base model as what Adopt published
		given, _, err := runs.Run(id.Run).Chunk(0).Must(ctx, m.Bucket)
		if err != nil {
			return b, err
		}
		base = given.Policy.Digest
	}
	propose, err := m.adversary(s, []string{base})
	if err != nil {
		return b, err
	}
	target, err := m.Wording.target(s)
	if err != nil {
		return b, err
	}

	for _, screen := range screens {
		b.Counts.Asked++
		b.Counts.Proposed++
		c, why, err := chosen(target, t, screen)
		if err != nil {
			return b, err
		}
		if why != "" {
			b.Drop(why)
			continue
		}

		p, why, err := m.preference(ctx, s, t.Slot, c.step, propose)
		if err != nil {
			return b, err
		}
		if why != "" {
			b.Drop(why)
			continue
		}
		p.Image = screen.Image
		b.Keep(p, screen.Action.Type, c.messages)
	}

	return b, nil
}

// choice is a step of a trajectory with the UI agent's response as its only cell.
type choice struct {
	step     domain.Step
	messages bool // the prompt carries messages
}

// chosen returns the chosen side of a pair, or why the screen cannot have one.
func chosen(target synth.Target, t runs.Trajectory, screen synth.Screen) (choice, string, error) {
	if screen.Action == nil {
		return choice{}, synth.DropAction, nil
	}
	text := screen.Text
	if target.Render != nil {
		var err error
		if text, err = target.Render(*screen.Action); err != nil {
			return choice{}, synth.DropForeign, nil
		}
	}

	own, peers := target.Messages(domain.Rand(t.Slot.Seed, "messages", screen.Step), text, screen.Observation)
	view := agents.View{Goal: t.Goal, History: screen.History, Observation: screen.Observation}
	prompt, err := target.Template.User(view, own, peers)
	if err != nil {
		return choice{}, "", err
	}
	if target.Fits != nil && !target.Fits(prompt, text) {
		return choice{}, synth.DropForeign, nil
	}

	cell := agents.NewCell(0, 0, text, prompt, screen.Observation)

	return choice{
		step: domain.Step{
			Number: screen.Step, Goal: t.Goal, History: screen.History, Observation: screen.Observation,
			Right:    screen.Right,
			Decision: domain.Decision{Cells: []domain.Cell{cell}, Executed: *screen.Action},
		},
		messages: own != "" || len(peers) > 0,
	}, "", nil
}

// preference returns the pair of one step, or why there is none.
func (m *Models) preference(
	ctx context.Context, s spec.Spec, slot domain.Slot, step domain.Step, propose proposer,
) (domain.Example, string, error) {
	var audits []credit.Audit
	grade, err := m.grader(s, slot, &audits)
	if err != nil {
		return domain.Example{}, "", err
	}

	// A critic that is a model grades the chosen answer when it sees it among the candidates.
	label := domain.Credit{Step: step.Number, Labels: []domain.Label{domain.Positive}}
	if s.Critic.Model == spec.RoleOracle {
		oracle, err := m.labeller(ctx, s, played{slot: slot, success: true}, nil)
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

		return proposals(call), err
	}
	one := credit.Rules{
		Candidates: s.Adversary.Candidates, Negatives: 1, Cells: credit.LatestCells, PerStep: 1, PerEpisode: 1,
		Answers: s.Answers,
	}
	pairs, _, err := credit.Pairs(ctx, one, slot.Number, slot.Task.Template,
		[]domain.Step{step}, []domain.Credit{label}, adversary, grade)
	switch {
	case err != nil:
		return domain.Example{}, "", err
	case slices.ContainsFunc(audits, func(a credit.Audit) bool { return a.Again < a.Blinded }):
		return domain.Example{}, synth.DropCritic, nil
	case len(pairs) == 0:
		return domain.Example{}, synth.DropNoMistake, nil
	}

	return pairs[0], "", nil
}
