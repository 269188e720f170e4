package grade

import (
	"context"
	"fmt"

	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
)

// credit records the labels of every cell of an episode (docs/method.md, Credit). The critic sees neither the outcome
// nor the next screen, except with `credit: outcome`, which uses the outcome alone.
func (g *grading) credit(ctx context.Context) (runs.Credits, error) {
	recorded := runs.Run(g.Run).Credits(g.Epoch, g.Slot)
	credits, ref, err := recorded.Record(ctx, g.Bucket, func() (runs.Credits, error) { return g.label(ctx) })
	err = g.check(ctx, credits.Episode, ref, err)
	if err == nil {
		g.credits = &credits
		g.creditsRef = ref
	}

	return credits, err
}

// label labels the steps of an episode in order.
func (g *grading) label(ctx context.Context) (runs.Credits, error) {
	specification, err := g.Runs.Spec(ctx, g.Run, g.Epoch)
	if err != nil {
		return runs.Credits{}, err
	}
	if err := g.Runs.CheckVersions(ctx, specification, g.Epoch, nil); err != nil {
		return runs.Credits{}, err
	}
	episode, err := g.episode(ctx)
	if err != nil {
		return runs.Credits{}, err
	}

	out := runs.Credits{Episode: episode.ref, Critic: rules.CriticName(specification, g.Catalog)}
	label, err := g.Feedback.Labeller(ctx, specification, episode, &out.Audit)
	if err != nil {
		return out, err
	}
	var listening *credit.Listening
	if labelsMessages(specification) {
		if listening, err = g.listening(ctx, specification, episode, nil, &out.HeardAudit); err != nil {
			return out, err
		}
	}
	for _, step := range episode.steps {
		labels, err := label(ctx, step)
		unknown := specification.Critic.Model == spec.RoleOracle && len(step.Right) == 0 // no label can follow
		if err == nil && listening != nil && !unknown {
			labels, err = listening.Label(ctx, step, labels)
		}
		if err != nil {
			return out, fmt.Errorf("step %d: %w", step.Number, err)
		}
		out.Steps = append(out.Steps, labels)
		g.progress(fmt.Sprintf("step %d of %d", step.Number, len(episode.steps)))
	}
	if listening != nil {
		out.Heard = callsOf(listening)
	}

	return out, nil
}
