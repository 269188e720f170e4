package update

import (
	"context"
	"slices"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/activities/training"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/trainer"
)

// Imitate trains the control of one agent and epoch: SFT on the chosen answers of the agent's pairs, for as many steps
// as its update made, from the control of the epoch before. An update or an epoch that did not count is not imitated.
func (g *GPU) Imitate(ctx context.Context, id AgentID) (runs.Policy, error) {
	log := g.Log.For(id.Run, "epoch", id.Epoch, "agent", id.Agent)

	return activities.Do(ctx, log, func(ctx context.Context, progress activities.Progress) (runs.Policy, error) {
		recorded := runs.Run(id.Run).Imitation(id.Epoch, id.Agent)
		policy, _, err := recorded.Record(ctx, g.Bucket, func() (runs.Policy, error) {
			return g.imitate(ctx, id, progress)
		})
		if err == nil {
			err = g.Jobs.Publish(ctx, id.Run, policy.Digest)
		}

		return policy, err
	})
}

func (g *GPU) imitate(ctx context.Context, id AgentID, progress activities.Progress) (runs.Policy, error) {
	given, err := g.Runs.Spec(ctx, id.Run, id.Epoch)
	if err != nil {
		return runs.Policy{}, err
	}
	start, err := imitated(ctx, g.Bucket, id.Run, id.Epoch-1, id.Agent)
	if err != nil {
		return start, err
	}

	run := runs.Run(id.Run)
	update, _, err := run.Update(id.Epoch, id.Agent).Must(ctx, g.Bucket)
	if err != nil || update.Steps == 0 || update.Kept != "" {
		return start, err
	}
	epoch, _, err := run.Epoch(id.Epoch).Must(ctx, g.Bucket)
	if err != nil || epoch.Kept != "" {
		return start, err
	}
	dataset, _, err := store.Must[runs.Dataset](ctx, g.Bucket, update.Dataset.Key) // of agent 0 with shared parameters
	if err != nil {
		return start, err
	}
	pairs, err := runs.ReadPairs(ctx, g.Bucket, dataset.Body)
	if err != nil {
		return start, err
	}

	agent := id.Agent
	if given.Parameters == spec.ParametersShared {
		agent = 0 // all controls are the same, as their one policy is
	}
	isBad := func(example domain.Example) bool { return example.Advantage < 0 }
	pairs = slices.DeleteFunc(without(pairs, update.Without), isBad)
	rules.Weigh(given, pairs, false)
	got, err := g.Jobs.Train(ctx, given, trainer.Job{
		ID: run.ImitationJob(id.Epoch, id.Agent), Start: start.Digest, Objective: trainer.SFT, Pairs: pairs,
		Params: given.Train, Seed: domain.Seed(given.Seed, "imitation", id.Epoch, agent), Steps: update.Steps,
		Skip: 1, // as many as the update left out
	}, progress, &training.Pace{})
	if err != nil || got.Diverged != "" {
		return start, err // as an update that diverges
	}
	canaries := &runs.Canaries{Unknown: "serving.canaries is 0"}
	if given.Serving.Canaries > 0 {
		seed := domain.Seed(given.Seed, "imitation canaries", id.Epoch, agent)
		canaries, _, err = g.Jobs.Canaries(ctx, given, training.Trained{Policy: got.Digest, Pairs: pairs, Seed: seed})
		if err != nil {
			return start, err
		}
	}
	of := training.Published{Epoch: id.Epoch, Agent: id.Agent}
	_, err = g.Jobs.PublishChecked(ctx, given, of, got.Digest, canaries)

	return runs.Policy{Digest: got.Digest, Tensor: got.TensorDigest}, err
}

// imitated returns the control after an epoch; before the first, it is the base policy.
func imitated(ctx context.Context, bucket store.Bucket, run string, epoch, agent int) (runs.Policy, error) {
	if epoch == 0 {
		base, _, err := runs.Run(run).Base().Must(ctx, bucket)

		return base.Policy, err
	}
	policy, _, err := runs.Run(run).Imitation(epoch, agent).Must(ctx, bucket)

	return policy, err
}

// Imitations returns the digests of the controls of all agents after an epoch.
func Imitations(ctx context.Context, bucket store.Bucket, run string, epoch, agents int) ([]string, error) {
	var policies []string
	for agent := range agents {
		policy, err := imitated(ctx, bucket, run, epoch, agent)
		if err != nil {
			return nil, err
		}
		policies = append(policies, policy.Digest)
	}

	return policies, nil
}
