package update

import (
	"context"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
)

// Gate probes an update and applies the gates.
func (g *GPU) Gate(
	ctx context.Context, s spec.Spec, id AgentID, u runs.Update, pairs []domain.Example, base string,
) (runs.Update, error) {
	return g.gate(ctx, s, id, u, pairs, base)
}
