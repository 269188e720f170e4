package update

import (
	"context"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/activities/training"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/gates"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/trainer"
)

// Publish loads the policies of an epoch's updates into the policy servers, and returns their number. Loading a policy
// again is a success. Publish ends when all policies are in as many servers as the specification requires, and are
// served as they were trained.
func (g *GPU) Publish(ctx context.Context, id activities.EpochID) (int, error) {
	log := g.Log.For(id.Run, "epoch", id.Epoch)

	return activities.Do(ctx, log, func(ctx context.Context, _ activities.Progress) (int, error) {
		specification, err := g.Runs.Spec(ctx, id.Run, id.Epoch)
		if err != nil {
			return 0, err
		}
		for agent := range specification.Agents {
			update, _, err := runs.Run(id.Run).Update(id.Epoch, agent).Must(ctx, g.Bucket)
			if err != nil {
				return agent, err
			}
			canaries := update.Canaries
			if update.Kept != "" { // they are of the policy that was rejected
				canaries = nil
			}
			of := training.Published{Epoch: id.Epoch, Agent: agent}
			_, err = g.Jobs.PublishChecked(ctx, specification, of, update.Policy.Digest, canaries)
			if err != nil {
				return agent, err
			}
		}

		return specification.Agents, nil
	})
}

// scoreCanaries has the trainer score canaries of the new policy of an update, and answers that its rollouts sampled.
func (g *GPU) scoreCanaries(
	ctx context.Context, given spec.Spec, id AgentID, update *runs.Update, pairs []domain.Example,
) error {
	if given.Serving.Canaries == 0 {
		return nil
	}
	cells, err := g.sampled(ctx, given, id)
	if err != nil {
		return err
	}
	var rows []trainer.Row
	for _, cell := range cells {
		rows = append(rows, cell.row)
	}
	trained := training.Trained{
		Policy: update.Policy.Digest, Pairs: pairs, Seed: domain.Seed(given.Seed, "canaries", id.Epoch, id.Agent),
	}
	canaries, scores, err := g.Jobs.Canaries(ctx, given, trained, rows...)
	if err != nil {
		return err
	}
	update.Canaries = canaries
	update.Played = played(cells, scores, gates.GapLimit(given.Serving, canaries.Precision), canaries.Unknown)
	g.tellPlayed(id, update.Played)

	return nil
}
