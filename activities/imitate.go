package activities

import (
	"context"
	"slices"

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
	log := g.log(id.Run, "epoch", id.Epoch, "agent", id.Agent)

	return do(ctx, log, func(ctx context.Context, say say) (runs.Policy, error) {
		p, _, err := runs.Run(id.Run).Imitation(id.Epoch, id.Agent).Record(ctx, g.Bucket, func() (runs.Policy, error) {
			return g.imitate(ctx, id, say)
		})
		if err == nil {
			err = g.publish(ctx, id.Run, p.Digest)
		}

		return p, err
	})
}

func (g *GPU) imitate(ctx context.Context, id AgentID, say say) (runs.Policy, error) {
	s, err := g.spec(ctx, id.Run, id.Epoch)
	if err != nil {
		return runs.Policy{}, err
	}
	start, err := g.imitated(ctx, id.Run, id.Epoch-1, id.Agent)
	if err != nil {
		return start, err
	}

	run := runs.Run(id.Run)
	u, _, err := run.Update(id.Epoch, id.Agent).Must(ctx, g.Bucket)
	if err != nil || u.Steps == 0 || u.Kept != "" {
		return start, err
	}
	e, _, err := run.Epoch(id.Epoch).Must(ctx, g.Bucket)
	if err != nil || e.Kept != "" {
		return start, err
	}
	d, _, err := store.Must[runs.Dataset](ctx, g.Bucket, u.Dataset.Key) // shared parameters: agent 0's
	if err != nil {
		return start, err
	}
	pairs, err := runs.ReadPairs(ctx, g.Bucket, d.Body)
	if err != nil {
		return start, err
	}

	agent := id.Agent
	if s.Parameters == spec.ParametersShared {
		agent = 0 // all controls are the same, as their one policy is
	}
	pairs = slices.DeleteFunc(without(pairs, u.Without), func(p domain.Example) bool { return p.Advantage < 0 })
	rules.Weigh(s, pairs, false)
	got, err := g.train(ctx, s, trainer.Job{
		ID: run.ImitationJob(id.Epoch, id.Agent), Start: start.Digest, Objective: trainer.SFT, Pairs: pairs,
		Params: s.Train, Seed: domain.Seed(s.Seed, "imitation", id.Epoch, agent), Steps: u.Steps,
		Skip: 1, // as many as the update left out
	}, say, &pace{})
	if err == nil && got.Diverged != "" {
		return start, nil // as an update that diverges
	}

	return runs.Policy{Digest: got.Digest, Tensor: got.TensorDigest}, err
}

// imitated returns the control after an epoch; before the first, it is the base policy.
func (c *Common) imitated(ctx context.Context, run string, epoch, agent int) (runs.Policy, error) {
	if epoch == 0 {
		b, _, err := runs.Run(run).Base().Must(ctx, c.Bucket)

		return b.Policy, err
	}
	p, _, err := runs.Run(run).Imitation(epoch, agent).Must(ctx, c.Bucket)

	return p, err
}

// imitation returns the controls of all agents after an epoch.
func (c *Control) imitation(ctx context.Context, run string, epoch, agents int) ([]string, error) {
	var policies []string
	for agent := range agents {
		p, err := c.imitated(ctx, run, epoch, agent)
		if err != nil {
			return nil, err
		}
		policies = append(policies, p.Digest)
	}

	return policies, nil
}
