package activities

import (
	"context"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store/runs"
)

// PlainEpisode plays an episode as a plain function. The orchestration benchmark compares with it and PlainPairs.
func PlainEpisode(ctx context.Context, r *Rollouts, id SlotID) error {
	s, suite, err := r.suite(ctx, id.Run, id.Epoch)
	if err != nil {
		return err
	}
	player, err := r.player(ctx, id, s, suite, quiet)
	if err != nil {
		return err
	}
	_, err = player.Play(ctx)

	return err
}

// PlainPairs labels and pairs an episode as a plain function.
func PlainPairs(ctx context.Context, m *Models, id SlotID) error {
	l := &labelling{SlotID: id}
	if _, err := m.credit(ctx, l, quiet); err != nil {
		return err
	}
	_, err := m.pairing(ctx, l, quiet)

	return err
}

func quiet(string) {}

// Gate probes an update and applies the gates.
func (g *GPU) Gate(
	ctx context.Context, s spec.Spec, id AgentID, u runs.Update, pairs []domain.Pair, base string,
) (runs.Update, error) {
	return g.gate(ctx, s, id, u, pairs, base)
}

// Hardness returns the log-probabilities of an adversary's answers under the agent's policy.
func (m *Models) Hardness(ctx context.Context, texts []string) ([]float64, error) {
	return m.hardness(ctx, "policy", "system", "prompt", texts)
}
