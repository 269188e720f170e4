package update

import (
	"context"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/internal/records/runs"
)

// Publish loads the policies of an epoch's updates into the policy servers, and returns their number. Loading a policy
// again is a success. Publish ends when all policies are in as many servers as the specification requires.
func (g *GPU) Publish(ctx context.Context, id activities.EpochID) (int, error) {
	log := g.Log.For(id.Run, "epoch", id.Epoch)

	return activities.Do(ctx, log, func(ctx context.Context, _ activities.Progress) (int, error) {
		specification, err := g.Runs.Spec(ctx, id.Run, id.Epoch)
		if err != nil {
			return 0, err
		}
		system, err := runs.Run(id.Run).System(ctx, g.Bucket, id.Epoch, specification.Agents)
		if err != nil {
			return 0, err
		}
		for i, policy := range system.Digests() {
			if err := g.Jobs.Load(ctx, policy, specification.Serving.Quorum); err != nil {
				return i, err
			}
		}

		return specification.Agents, nil
	})
}
