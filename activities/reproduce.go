package activities

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/trainer"
)

// Names of the systems of a reproduction, next to base-1, base-n and trained-n: see package rules.
const (
	NameVotes     = rules.NameVotes
	NameAlone     = rules.NameAlone
	NameImitation = rules.NameImitation
)

// Imitate trains the control of one agent and epoch: SFT on the chosen answers of the agent's pairs, as many steps as its update made, from the control of the
// epoch before.
func (g *GPU) Imitate(ctx context.Context, id AgentID) (runs.Policy, error) {
	say, stop := heartbeat(ctx)
	defer stop()
	p, _, err := store.RecordOnce(ctx, g.Bucket, imitationKey(id), func() (runs.Policy, error) {
		s, err := g.spec(ctx, id.Run)
		if err != nil {
			return runs.Policy{}, err
		}
		start, err := g.imitationStart(ctx, id)
		if err != nil {
			return start, err
		}
		u, _, err := runs.Run(id.Run).Update(id.Epoch, id.Agent).Read(ctx, g.Bucket)
		if err != nil || u.Steps == 0 {
			return start, err
		}
		d, _, err := store.Read[runs.Dataset](ctx, g.Bucket, u.Dataset.Key)
		if err != nil {
			return start, err
		}
		raw, err := store.GetBlob(ctx, g.Bucket, d.Body.SHA256)
		if err != nil {
			return start, err
		}
		var pairs []domain.Pair
		if err := json.Unmarshal(raw, &pairs); err != nil {
			return start, err
		}
		got, err := g.train(ctx, s, trainer.Job{ID: runs.Run(id.Run).ImitationJob(id.Epoch, id.Agent), Start: start.Digest, Objective: trainer.SFT, Pairs: pairs, Params: s.Train,
			Seed: domain.Seed(s.Seed, "imitation", id.Epoch, id.Agent), Workers: g.Threads, Until: u.Steps}, say)
		return runs.Policy{Digest: got.Digest, Tensor: got.TensorDigest}, err
	})
	if err == nil {
		err = g.publish(ctx, id.Run, p.Digest)
	}
	return done(p, err)
}

func imitationKey(id AgentID) string { return runs.Run(id.Run).Imitation(id.Epoch, id.Agent).Key }

func (g *GPU) imitationStart(ctx context.Context, id AgentID) (runs.Policy, error) {
	if id.Epoch > 1 {
		id.Epoch--
		p, _, err := store.Read[runs.Policy](ctx, g.Bucket, imitationKey(id))
		return p, err
	}
	b, _, err := runs.Run(id.Run).Base().Read(ctx, g.Bucket)
	return b.Policy, err
}

// Contestants are what a reproduction needs of a finished run.
type Contestants struct {
	Agents int
	Epochs int // imitated up to the best epoch
	Items  []rules.EvalItem
}

// ReproductionID names a reproduction: a finished run and the number of paired episodes per system and split.
type ReproductionID struct {
	Run      string
	Episodes int
}

// PlanReproduction reads a finished run: how many epochs of imitation it needs, and what is to be evaluated on which split. Systems of policies that do not
// exist yet are left out. What serves one comparison on test-seeds only is not played on test-templates.
func (c *Control) PlanReproduction(ctx context.Context, id ReproductionID) (Contestants, error) {
	s, err := c.spec(ctx, id.Run)
	if err != nil {
		return done(Contestants{}, err)
	}
	f, err := c.PlanFinal(ctx, id.Run)
	if err != nil {
		return done(Contestants{}, err)
	}
	out := Contestants{Agents: s.Agents, Epochs: f.Best}
	add := func(e rules.EvalSystem, splits ...string) {
		for _, split := range splits {
			out.Items = append(out.Items, rules.EvalItem{Run: id.Run, Folder: rules.ReproduceFolder, System: e, Split: split, Episodes: id.Episodes})
		}
	}
	both := []string{domain.SplitTestSeeds, domain.SplitTestTemplates}
	base, err := c.Systems(ctx, SystemsID{Run: id.Run})
	if err != nil {
		return done(out, err)
	}
	var one rules.EvalSystem
	for _, x := range base {
		switch x.Name {
		case f.Base1:
			one = x
			one.Name = "base-1"
			add(one, both...)
		case rules.BaseName(s.Agents):
			add(x, both...)
		}
	}
	votes := rules.EvalSystem{Name: NameVotes, Rounds: 1, TopP: s.Decoding.TopP, Silent: true}
	temps := s.EvaluationTemperatures()
	for i := range s.Agents * s.Rounds {
		votes.Policies, votes.Temperature = append(votes.Policies, one.Policies[0]), append(votes.Temperature, temps[i%len(temps)])
	}
	add(votes, domain.SplitTestSeeds)
	if f.Best == 0 {
		return out, nil
	}
	trained, err := c.Systems(ctx, SystemsID{Run: id.Run, Epoch: f.Best})
	if err != nil {
		return done(out, err)
	}
	add(trained[0], both...)
	add(rules.EvalSystem{Name: NameAlone, Policies: trained[0].Policies, OneOf: true, Rounds: 1, Temperature: one.Temperature, TopP: s.Decoding.TopP}, domain.SplitTestSeeds)
	imitation := trained[0]
	imitation.Name, imitation.Policies = fmt.Sprintf("%s-%d", NameImitation, s.Agents), nil
	for a := range s.Agents {
		p, _, err := store.Read[runs.Policy](ctx, c.Bucket, imitationKey(AgentID{Run: id.Run, Epoch: f.Best, Agent: a}))
		if missing(err) {
			return done(out, nil)
		}
		if err != nil {
			return done(out, err)
		}
		imitation.Policies = append(imitation.Policies, p.Digest)
	}
	add(imitation, both...)
	return done(out, nil)
}
