package activities

import (
	"context"
	"slices"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/method/synth"
	"github.com/collabui/collabui/internal/store/runs"
)

// preferences is level 3: along a successful trajectory the UI agent's response is chosen, the adversary's rejected, on the same prompt. It is kept only if the critic
// says 1 for chosen and 0 for rejected and their canonical actions differ. The critic sees both in one call, and does not know which is which.
func (m *Models) preferences(ctx context.Context, s spec.Spec, id LevelID, t runs.Trajectory, screens []synth.Screen) (synth.Batch, error) {
	b := synth.Batch{Rows: []domain.Pair{}, Counts: synth.NewItemCounts()}
	base, _, err := m.before(ctx, s, ChunkID{Run: id.Run, Chunk: id.Chunk})
	if err != nil {
		return b, err
	}
	propose, err := m.adversary(s, runs.System{Policies: []runs.Policy{{Digest: base}}})
	if err != nil {
		return b, err
	}
	ep := runs.Episode{Slot: t.Slot}
	pol, err := m.policy(s)
	if err != nil {
		return b, err
	}
	for _, sc := range screens {
		b.Counts.Asked++
		b.Counts.Proposed++
		if sc.Action == nil {
			b.Drop(synth.DropAction)
			continue
		}
		text := sc.Text
		if pol.Render != nil {
			if text, err = pol.Render(*sc.Action); err != nil {
				b.Drop(synth.DropForeign)
				continue
			}
		}
		own, peers := pol.Messages(domain.Rand(t.Slot.Seed, "messages", sc.Step), text, sc.Observation)
		prompt, err := pol.Template.User(agents.View{Goal: t.Goal, History: sc.History, Observation: sc.Observation}, own, peers)
		if err != nil {
			return b, err
		}
		if pol.Fits != nil && !pol.Fits(prompt, text) {
			b.Drop(synth.DropForeign)
			continue
		}
		cell := agents.NewCell(0, 0, text, prompt, sc.Observation)
		step := domain.Step{Number: sc.Step, Goal: t.Goal, History: sc.History, Observation: sc.Observation, Right: sc.Right, Decision: domain.Decision{Cells: []domain.Cell{cell}, Executed: *sc.Action}}
		p, why, err := m.preference(ctx, s, ep, step, t.Slot.Task.Template, propose)
		if err != nil {
			return b, err
		}
		if why != "" {
			b.Drop(why)
			continue
		}
		p.Image = sc.Image
		b.Keep(p, sc.Action.Type, own != "" || len(peers) > 0)
	}
	return b, nil
}

// preference makes the pair of one step, or says why there is none.
func (m *Models) preference(ctx context.Context, s spec.Spec, ep runs.Episode, step domain.Step, template string, propose proposal) (domain.Pair, string, error) {
	var audits runs.Pairs
	grade, err := m.grade(s, ep, &audits)
	if err != nil {
		return domain.Pair{}, "", err
	}
	label := domain.Credit{Step: step.Number, Labels: []domain.Label{domain.Positive}} // of a model: what it says of the chosen answer among the candidates
	if s.Critic.Model == spec.RoleOracle {
		rule, err := m.critic(s, ep, nil)
		if err == nil {
			label, err = rule(ctx, step)
		}
		if err != nil || label.Labels[0] != domain.Positive {
			return domain.Pair{}, synth.DropCritic, err
		}
	}
	adversary := func(ctx context.Context, st domain.Step, cell domain.Cell, n int) ([]string, error) {
		call := runs.Call{Seed: domain.Seed(ep.Slot.Seed, "adversary", st.Number)}
		err := propose(ctx, st, cell, n, &call)
		return call.Texts, err
	}
	pairs, _, err := credit.Pairs(ctx, credit.Rules{Candidates: s.Adversary.Candidates, PerStep: 1, PerEpisode: 1}, ep.Slot.Number, template, []domain.Step{step}, []domain.Credit{label}, adversary, grade)
	switch {
	case err != nil:
		return domain.Pair{}, "", err
	case slices.ContainsFunc(audits.Audit, func(a credit.Audit) bool { return a.Again < a.Blinded }):
		return domain.Pair{}, synth.DropCritic, nil
	case len(pairs) == 0:
		return domain.Pair{}, synth.DropNoMistake, nil
	}
	return pairs[0], "", nil
}
