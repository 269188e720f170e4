package activities

import (
	"context"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
)

// dataset gathers an agent's pairs in the order of epoch, slot and step, and records them. Pairs of earlier epochs are
// marked with their age.
func (g *GPU) dataset(ctx context.Context, s spec.Spec, id AgentID) (store.Ref, []domain.Pair, error) {
	var pairs []domain.Pair
	for age := min(s.Pairs.MaxAge, id.Epoch-1); age >= 0; age-- {
		own, err := g.pairsOf(ctx, s, AgentID{Run: id.Run, Epoch: id.Epoch - age, Agent: id.Agent})
		if err != nil {
			return store.Ref{}, nil, err
		}
		for i := range own {
			own[i].Age = age
		}
		pairs = append(pairs, own...)
	}

	rules.Weigh(s, pairs, s.Preference == spec.PreferenceDPO)
	_, ref, err := runs.Run(id.Run).Dataset(id.Epoch, id.Agent).Record(ctx, g.Bucket, func() (runs.Dataset, error) {
		body, err := runs.WritePairs(ctx, g.Bucket, pairs)

		return runs.Dataset{Agent: id.Agent, Body: body, Count: len(pairs), Card: credit.Describe(pairs)}, err
	})

	return ref, pairs, err
}

// pairsOf reads the pairs of an agent from one epoch: all pairs if the agents share their parameters. A failed slot has
// none. Pairs of earlier epochs, whose specification may have been another one, are left out if they do not fit the
// update.
func (g *GPU) pairsOf(ctx context.Context, s spec.Spec, id AgentID) ([]domain.Pair, error) {
	var own []domain.Pair
	read := func(ctx context.Context, i int) ([]domain.Pair, error) {
		return runs.Run(id.Run).PairsOf(ctx, g.Bucket, id.Epoch, i+1)
	}
	slots, _, err := runs.Run(id.Run).Slots(id.Epoch).Read(ctx, g.Bucket) // an earlier epoch may have had others
	if err != nil {
		return nil, err
	}
	err = store.InOrder(ctx, len(slots.Slots), read, func(_ int, pairs []domain.Pair) error {
		for _, p := range pairs {
			if fits(s, p) && (p.Agent == id.Agent || s.Parameters == spec.ParametersShared) {
				own = append(own, p)
			}
		}

		return nil
	})

	return own, err
}

// fits reports whether the update of a specification can learn from a pair, which may have been made for another one.
func fits(s spec.Spec, p domain.Pair) bool {
	if p.Source == domain.SourceNone {
		return s.Preference == spec.PreferenceRFT
	}

	return (p.Source == domain.SourceGroup) == (s.Preference == spec.PreferenceGRPO)
}
