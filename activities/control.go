package activities

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/prompts"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/process/events"
	"github.com/collabui/collabui/internal/process/failpoint"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
)

// Control plans, commits and concludes. Its activities only read and write the store.
type Control struct{ *Deps }

// Plan is where a run stands, read from the store alone.
type Plan struct {
	Environment string
	Agents      int
	Epochs      int
	Slots       int
	Committed   int  // the newest committed epoch
	HasBase     bool // stage 1 is over
	Ended       bool
	EvalEvery   int
	MaxChunks   int
	Demos       int
	Val         int
	FailedShare float64
	TopP        float64
	StopLow     float64
	Shared      bool // parameters
	Base        string
	Stages      []spec.LevelJob // of stage 1's levels
	Imported    [3]bool         // levels whose data are given
}

// PlanRun tells where to begin: a run whose Temporal data is lost goes on from its newest commit.
func (c *Control) PlanRun(ctx context.Context, run string) (Plan, error) {
	s, err := c.spec(ctx, run)
	if err != nil {
		return done(Plan{}, err)
	}
	p := Plan{Environment: s.Environment, Agents: s.Agents, Epochs: s.Epochs, Slots: s.Slots, EvalEvery: s.Evaluation.Every, MaxChunks: s.FineTune.MaxChunks,
		Demos: s.FineTune.Demonstrations, Val: s.Evaluation.Val, FailedShare: s.FailedShare, TopP: s.Decoding.TopP, StopLow: s.FineTune.StopLow, Shared: s.Parameters == spec.ParametersShared, Base: s.FineTune.Base}
	if len(s.FineTune.Levels) > 0 || p.Base != "" {
		p.Stages = s.FineTune.LevelJobs()
		p.MaxChunks = len(p.Stages)
	}
	for i := range p.Imported {
		p.Imported[i] = s.FineTune.Data.Of(i+1) != ""
	}
	if p.HasBase, err = runs.Run(run).Base().Exists(ctx, c.Bucket); err != nil {
		return done(p, err)
	}
	if p.Ended, err = runs.Run(run).End().Exists(ctx, c.Bucket); err != nil {
		return done(p, err)
	}
	if !p.Ended {
		if err := c.playable(s); err != nil {
			return done(p, err)
		}
	}
	for p.Committed < s.Epochs {
		ok, err := runs.Run(run).Epoch(p.Committed+1).Exists(ctx, c.Bucket)
		if err != nil || !ok {
			return done(p, err)
		}
		p.Committed++
	}
	return p, nil
}

// playable says at once what would otherwise end a run behind days: an environment that cannot be opened here, or that lacks a split which the run plays.
func (c *Control) playable(s spec.Spec) error {
	suite, err := c.suite(s.Where(s.Environment))
	if err != nil {
		return err
	}
	for _, x := range []rules.Split{{Name: domain.SplitTrain, Episodes: 1}, {Name: domain.SplitVal, Episodes: s.Evaluation.Val}, {Name: domain.SplitTestSeeds, Episodes: s.Evaluation.TestSeeds}, {Name: domain.SplitTestTemplates, Episodes: s.Evaluation.TestTemplates}} {
		if x.Episodes == 0 {
			continue
		}
		if ts, err := suite.Templates(x.Name); err != nil || len(ts) == 0 {
			return fault.New(fault.Invalid, "environment %s cannot play split %s (it has %s); evaluation.test_seeds and evaluation.test_templates may be 0: %w", s.Environment, x.Name, strings.Join(suite.Splits(), ", "), err)
		}
	}
	_, _, err = c.elsewhere(s, nil)
	return err
}

// EpochID names an epoch of a run.
type EpochID struct {
	Run   string
	Epoch int
}

// EpochPlan is what the workflow needs of topology and slots.
type EpochPlan struct {
	Slots    int
	Topology string // for the summary
}

// PlanEpoch records E_k and the slots of an epoch. Both follow from the specification alone.
func (c *Control) PlanEpoch(ctx context.Context, id EpochID) (EpochPlan, error) {
	s, err := c.spec(ctx, id.Run)
	if err != nil {
		return done(EpochPlan{}, err)
	}
	topo, err := c.topology(ctx, s, id.Epoch)
	if err != nil {
		return done(EpochPlan{}, err)
	}
	slots, _, err := runs.Run(id.Run).Slots(id.Epoch).Record(ctx, c.Bucket, func() (runs.Slots, error) {
		sys, _, err := c.system(ctx, id.Run, id.Epoch, s.Agents)
		if err != nil {
			return runs.Slots{}, err
		}
		suite, err := c.suite(s.Where(s.Environment))
		if err != nil {
			return runs.Slots{}, err
		}
		p, err := rules.Prompt(s, prompts.Agent)
		if err != nil {
			return runs.Slots{}, err
		}
		out := runs.Slots{Epoch: id.Epoch, System: sys, Prompt: p.Digest}
		for n := range s.Slots {
			slot, err := rules.Slot(s, suite, id.Epoch, n+1, 0)
			if err != nil {
				return out, err
			}
			out.Slots = append(out.Slots, slot)
		}
		return out, nil
	})
	return done(EpochPlan{Slots: len(slots.Slots), Topology: fmt.Sprint(topo.Edges)}, err)
}

func (c *Control) topology(ctx context.Context, s spec.Spec, epoch int) (domain.Topology, error) {
	t, _, err := runs.Run(s.Name).Topology(epoch).Record(ctx, c.Bucket, func() (domain.Topology, error) {
		var prev *domain.Topology
		if epoch > 1 {
			p, _, err := runs.Run(s.Name).Topology(epoch-1).Read(ctx, c.Bucket)
			if err != nil {
				return p, err
			}
			prev = &p
		}
		return rules.Topology(s, epoch, prev), nil
	})
	return t, err
}

// EpochSummary is a committed epoch in a few figures.
type EpochSummary struct {
	Epoch    int
	Rollouts float64 // success rate of the sampling policies on training tasks
	Pairs    int
	Val      float64 // -1: not evaluated
	Digest   string
	Failed   int
}

// Commit writes epoch.json: the epoch exists when it does. All parts are read back and hashed in slot order.
func (c *Control) Commit(ctx context.Context, id EpochID) (EpochSummary, error) {
	_, stop := heartbeat(ctx)
	defer stop()
	e, _, err := runs.Run(id.Run).Epoch(id.Epoch).Record(ctx, c.Bucket, func() (runs.Epoch, error) {
		failpoint.Hit("commit")
		return c.assemble(ctx, id)
	})
	sum := EpochSummary{Epoch: e.Number, Rollouts: e.Rollouts.Rate, Pairs: e.Pairs, Val: -1, Digest: e.Digest, Failed: e.FailedAll}
	if e.Val != nil {
		sum.Val = e.Val.Rate
	}
	if err == nil {
		c.emit(id.Run, events.Epoch{Epoch: id.Epoch, Rollouts: sum.Rollouts, Pairs: sum.Pairs, Val: sum.Val, Digest: sum.Digest})
	}
	return done(sum, err)
}

func (c *Control) assemble(ctx context.Context, id EpochID) (runs.Epoch, error) {
	s, err := c.spec(ctx, id.Run)
	if err != nil {
		return runs.Epoch{}, err
	}
	e := runs.Epoch{Number: id.Epoch}
	parts := runs.EpochParts{}
	topo, ref, err := runs.Run(id.Run).Topology(id.Epoch).Read(ctx, c.Bucket)
	if err != nil {
		return e, err
	}
	slots, slotsRef, err := runs.Run(id.Run).Slots(id.Epoch).Read(ctx, c.Bucket)
	if err != nil {
		return e, err
	}
	e.Topology, e.Slots, parts.Topology, parts.Slots = ref, slotsRef, topo, slots.Slots
	if e.Parent, parts.Parent, err = c.parent(ctx, id); err != nil {
		return e, err
	}
	n := len(slots.Slots)
	e.Episodes, parts.Episodes = make([]runs.SlotRefs, n), make([]string, n)
	parts.Labels, parts.Pairs = make([][]domain.Credit, n), make([][]domain.Pair, n)
	wins, failed := make([]bool, n), make([]bool, n)
	err = parallel(ctx, n, 8, func(ctx context.Context, i int) error {
		ep, epRef, err := runs.Run(id.Run).Episode(ctx, c.Bucket, id.Epoch, i+1)
		if err != nil {
			return err
		}
		e.Episodes[i] = runs.SlotRefs{Slot: i + 1, Episode: epRef}
		parts.Episodes[i], wins[i], failed[i] = ep.Digest, ep.Outcome.Success, ep.Failed != ""
		if ep.Failed != "" {
			return nil
		}
		cr, crRef, err := runs.Run(id.Run).Credits(id.Epoch, i+1).Read(ctx, c.Bucket)
		if err != nil {
			return err
		}
		ps, psRef, err := runs.Run(id.Run).Pairs(id.Epoch, i+1).Read(ctx, c.Bucket)
		e.Episodes[i].Credit, e.Episodes[i].Pairs = crRef, psRef
		parts.Labels[i], parts.Pairs[i] = cr.Steps, ps.Pairs
		return err
	})
	if err != nil {
		return e, err
	}
	k := 0
	for i := range n {
		if wins[i] {
			k++
		}
		if failed[i] {
			e.FailedAll++
		}
		e.Pairs += len(parts.Pairs[i])
	}
	e.Rollouts = runs.NewResult("rollouts", domain.SplitTrain, k, n-e.FailedAll, e.FailedAll, "training")
	e.System.Version = id.Epoch
	for a := range s.Agents {
		u, uRef, err := runs.Run(id.Run).Update(id.Epoch, a).Read(ctx, c.Bucket)
		if err != nil {
			return e, err
		}
		e.Updates, e.System.Policies, parts.Tensors = append(e.Updates, uRef), append(e.System.Policies, u.Policy), append(parts.Tensors, u.Policy.Tensor)
	}
	if v, _, err := runs.Run(id.Run).Result(rules.EvalID(rules.EpochFolder(id.Epoch), rules.TrainedName(s.Agents), domain.SplitVal)).Read(ctx, c.Bucket); err == nil {
		e.Val = &v
	} else if !errors.Is(err, store.ErrNotFound) {
		return e, err
	}
	e.Digest = runs.Digest(parts)
	return e, nil
}

// parent gives the commit before, or the base policy, and the digest to chain.
func (c *Control) parent(ctx context.Context, id EpochID) (store.Ref, string, error) {
	if id.Epoch > 1 {
		p, ref, err := runs.Run(id.Run).Epoch(id.Epoch-1).Read(ctx, c.Bucket)
		return ref, p.Digest, err
	}
	b, ref, err := runs.Run(id.Run).Base().Read(ctx, c.Bucket)
	return ref, b.Policy.Tensor, err
}
