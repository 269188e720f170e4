package activities

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// dataset returns the data set of an agent and its pairs. The first that asks records those of all agents.
func (g *GPU) dataset(ctx context.Context, s spec.Spec, id AgentID) (store.Ref, []domain.Example, error) {
	recorded := runs.Run(id.Run).Dataset(id.Epoch, id.Agent)
	there, err := recorded.Exists(ctx, g.Bucket)
	if err == nil && !there {
		err = g.gatherOnce(ctx, s, id)
	}
	if err != nil {
		return store.Ref{}, nil, err
	}
	set, ref, err := recorded.Must(ctx, g.Bucket)
	if err != nil {
		return ref, nil, err
	}
	pairs, err := runs.ReadPairs(ctx, g.Bucket, set.Body)
	if fault.KindOf(err) == fault.Corrupt { // bytes that are there and wrong, never a blob that is not shown
		err = fault.New(fault.Corrupt, "the rows of %s cannot be read: delete it, then resume the run, which makes it "+
			"again: %w", ref.Key, err)
	}

	return ref, pairs, err
}

// gatherOnce is gather, once for all who ask at the same time: the updates of an epoch begin together. Whoever is
// cancelled does not wait, and does not end it for the others.
func (g *GPU) gatherOnce(ctx context.Context, s spec.Spec, id AgentID) error {
	v, err := g.versions(ctx, id.Run)
	if err != nil {
		return err
	}
	key := fmt.Sprintf("data sets of epoch %d of %s", id.Epoch, v.identity)
	gathered := g.reads.DoChan(key, func() (_ any, err error) {
		defer func() {
			if r := recover(); r != nil { // it would end the process: it is not on an activity's goroutine
				err = fault.New(fault.Fatal, "gather the data sets: %v\n%s", r, debug.Stack())
			}
		}()

		return nil, g.gather(context.WithoutCancel(ctx), s, id)
	})
	select {
	case done := <-gathered:
		return done.Err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// gather records the data sets of all agents of an epoch, that of the given agent first: their pairs in the order of
// epoch, slot and step. Pairs of earlier epochs are marked with their age. If the agents share their parameters, all
// pairs are those of agent 0.
func (g *GPU) gather(ctx context.Context, s spec.Spec, id AgentID) error {
	own := make([][]domain.Example, s.Agents)
	if s.Parameters == spec.ParametersShared {
		own = own[:1]
	}
	there, err := g.gathered(ctx, id, len(own))
	if err != nil || there {
		return err
	}
	err = g.eachPair(ctx, s, EpochID{Run: id.Run, Epoch: id.Epoch}, func(p domain.Example) {
		agent := p.Agent
		if s.Parameters == spec.ParametersShared {
			agent = 0
		}
		if agent >= 0 && agent < len(own) {
			own[agent] = append(own[agent], p)
		}
	})
	if err != nil {
		return err
	}

	for i := range own { // another host begins with another agent, and finds these recorded
		agent := (id.Agent + i) % len(own)
		_, _, err := runs.Run(id.Run).Dataset(id.Epoch, agent).Record(ctx, g.Bucket, func() (runs.Dataset, error) {
			pairs := own[agent]
			rules.Weigh(s, pairs, s.Preference == spec.PreferenceDPO)
			body, err := runs.PutPairs(ctx, g.Bucket, pairs)

			return runs.Dataset{Agent: agent, Body: body, Count: len(pairs), Card: credit.Describe(pairs)}, err
		})
		if err != nil {
			return err
		}
	}

	return nil
}

// gathered reports whether the data sets of all agents are recorded: somebody may have gathered since this one looked.
func (g *GPU) gathered(ctx context.Context, id AgentID, agents int) (bool, error) {
	for agent := range agents {
		there, err := runs.Run(id.Run).Dataset(id.Epoch, agent).Exists(ctx, g.Bucket)
		if err != nil || !there {
			return false, err
		}
	}

	return true, nil
}

// eachPair calls use with the pairs of an epoch, in order. A failed slot has none. Pairs of earlier epochs, whose
// specification may have been another one, are left out if they do not fit the update.
func (g *GPU) eachPair(ctx context.Context, s spec.Spec, id EpochID, use func(domain.Example)) error {
	read := func(ctx context.Context, i int) ([]domain.Example, error) {
		return runs.Run(id.Run).PairsOf(ctx, g.Bucket, id.Epoch, i+1)
	}
	slots, _, err := runs.Run(id.Run).Slots(id.Epoch).Must(ctx, g.Bucket) // an earlier epoch may have had others
	if err != nil {
		return err
	}

	return store.InOrder(ctx, len(slots.Slots), read, func(_ int, pairs []domain.Example) error {
		for _, p := range pairs {
			if fits(s, p) {
				use(p)
			}
		}

		return nil
	})
}

// fits reports whether the update of a specification can learn from a pair, which may have been made for another one.
func fits(s spec.Spec, p domain.Example) bool {
	if p.Source == domain.SourceNone {
		return s.Preference == spec.PreferenceRFT
	}

	return (p.Source == domain.SourceGroup) == (s.Preference == spec.PreferenceGRPO)
}
