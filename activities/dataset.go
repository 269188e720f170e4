package activities

import (
	"context"
	"fmt"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
)

// dataset returns the data set of an agent and its pairs. The first that asks records those of all agents.
func (g *GPU) dataset(ctx context.Context, s spec.Spec, id AgentID) (store.Ref, []domain.Pair, error) {
	recorded := runs.Run(id.Run).Dataset(id.Epoch, id.Agent)
	set, ref, err := recorded.Read(ctx, g.Bucket)
	if missing(err) {
		// The updates of an epoch begin at once. One of them gathers for all, whatever becomes of it.
		gathered := g.reads.DoChan(fmt.Sprint("data sets of ", id.Run, "/", id.Epoch), func() (any, error) {
			return nil, g.gather(context.WithoutCancel(ctx), s, id.Run, id.Epoch)
		})
		select {
		case done := <-gathered:
			err = done.Err
		case <-ctx.Done():
			err = ctx.Err()
		}
		if err == nil {
			set, ref, err = recorded.Read(ctx, g.Bucket)
		}
	}
	if err != nil {
		return ref, nil, err
	}
	pairs, err := runs.ReadPairs(ctx, g.Bucket, set.Body)

	return ref, pairs, err
}

// gather records the data sets of all agents of an epoch: their pairs in the order of epoch, slot and step. Pairs of
// earlier epochs are marked with their age. If the agents share their parameters, all pairs are those of agent 0.
func (g *GPU) gather(ctx context.Context, s spec.Spec, run string, epoch int) error {
	if known, ok := g.specs.Load(run); ok {
		known.(*versions).demonstrated.Store(nil) // stage 1 is over
	}
	own := make([][]domain.Pair, s.Agents)
	if s.Parameters == spec.ParametersShared {
		own = own[:1]
	}
	for age := min(s.Pairs.MaxAge, epoch-1); age >= 0; age-- {
		err := g.eachPair(ctx, s, EpochID{Run: run, Epoch: epoch - age}, func(p domain.Pair) {
			agent := p.Agent
			if s.Parameters == spec.ParametersShared {
				agent = 0
			}
			if p.Age = age; agent < len(own) {
				own[agent] = append(own[agent], p)
			}
		})
		if err != nil {
			return err
		}
	}

	for agent, pairs := range own {
		rules.Weigh(s, pairs, s.Preference == spec.PreferenceDPO)
		_, _, err := runs.Run(run).Dataset(epoch, agent).Record(ctx, g.Bucket, func() (runs.Dataset, error) {
			body, err := runs.WritePairs(ctx, g.Bucket, pairs)

			return runs.Dataset{Agent: agent, Body: body, Count: len(pairs), Card: credit.Describe(pairs)}, err
		})
		if err != nil {
			return err
		}
	}

	return nil
}

// eachPair calls use with the pairs of an epoch, in order. A failed slot has none. Pairs of earlier epochs, whose
// specification may have been another one, are left out if they do not fit the update.
func (g *GPU) eachPair(ctx context.Context, s spec.Spec, id EpochID, use func(domain.Pair)) error {
	read := func(ctx context.Context, i int) ([]domain.Pair, error) {
		return runs.Run(id.Run).PairsOf(ctx, g.Bucket, id.Epoch, i+1)
	}
	slots, _, err := runs.Run(id.Run).Slots(id.Epoch).Read(ctx, g.Bucket) // an earlier epoch may have had others
	if err != nil {
		return err
	}

	return store.InOrder(ctx, len(slots.Slots), read, func(_ int, pairs []domain.Pair) error {
		for _, p := range pairs {
			if fits(s, p) {
				use(p)
			}
		}

		return nil
	})
}

// fits reports whether the update of a specification can learn from a pair, which may have been made for another one.
func fits(s spec.Spec, p domain.Pair) bool {
	if p.Source == domain.SourceNone {
		return s.Preference == spec.PreferenceRFT
	}

	return (p.Source == domain.SourceGroup) == (s.Preference == spec.PreferenceGRPO)
}
