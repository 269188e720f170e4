package update

import (
	"context"
	"fmt"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// dataset returns the data set of an agent and its pairs. The first update of an epoch records the data sets of all
// agents.
func (g *GPU) dataset(ctx context.Context, specification spec.Spec, id AgentID) (store.Ref, []domain.Example, error) {
	recorded := runs.Run(id.Run).Dataset(id.Epoch, id.Agent)
	there, err := recorded.Exists(ctx, g.Bucket)
	if err == nil && !there { // the updates of an epoch begin together
		key := fmt.Sprintf("data sets of epoch %d", id.Epoch)
		err = g.Runs.Once(ctx, id.Run, key, func(ctx context.Context) error { return g.gather(ctx, specification, id) })
	}
	if err != nil {
		return store.Ref{}, nil, err
	}
	set, ref, err := recorded.Must(ctx, g.Bucket)
	if err != nil {
		return ref, nil, err
	}
	pairs, err := runs.ReadPairs(ctx, g.Bucket, set.Body)
	if fault.KindOf(err) == fault.Corrupt { // wrong bytes; a blob that the store does not show is no corrupt fault
		err = fault.New(fault.Corrupt, "the rows of %s cannot be read: delete it, then resume the run, which makes it "+
			"again: %w", ref.Key, err)
	}

	return ref, pairs, err
}

// gather records the data sets of all agents of an epoch, beginning with the given agent: their pairs in the order of
// epoch, slot and step. If the agents share their parameters, all pairs belong to agent 0.
func (g *GPU) gather(ctx context.Context, specification spec.Spec, id AgentID) error {
	own := make([][]domain.Example, specification.Agents)
	if specification.Parameters == spec.ParametersShared {
		own = own[:1]
	}
	there, err := g.gathered(ctx, id, len(own))
	if err != nil || there {
		return err
	}
	err = g.eachPair(ctx, specification, activities.EpochID{Run: id.Run, Epoch: id.Epoch}, func(p domain.Example) {
		agent := p.Agent
		if specification.Parameters == spec.ParametersShared {
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
			rules.Weigh(specification, pairs, specification.Preference == spec.PreferenceDPO)
			body, err := runs.PutPairs(ctx, g.Bucket, pairs)

			return runs.Dataset{Agent: agent, Body: body, Count: len(pairs), Card: describe(specification, pairs)}, err
		})
		if err != nil {
			return err
		}
	}

	return nil
}

// describe returns the card of a data set. Right answers that are rows of their own are only counted.
func describe(specification spec.Spec, rows []domain.Example) credit.Card {
	if !specification.LearnsRight() {
		return credit.Describe(rows)
	}
	pairs, right := rules.SplitRows(rows)
	card := credit.Describe(pairs)
	card.Right = len(right)
	if len(right) > 0 {
		card.BySource[domain.SourceNone] = len(right)
	}

	return card
}

// gathered reports whether the data sets of all agents are recorded by now.
func (g *GPU) gathered(ctx context.Context, id AgentID, agents int) (bool, error) {
	for agent := range agents {
		there, err := runs.Run(id.Run).Dataset(id.Epoch, agent).Exists(ctx, g.Bucket)
		if err != nil || !there {
			return false, err
		}
	}

	return true, nil
}

// eachPair calls use with the pairs of an epoch, in order. A failed slot has no pairs. Pairs that do not fit the update
// are left out.
func (g *GPU) eachPair(ctx context.Context, given spec.Spec, id activities.EpochID, use func(domain.Example)) error {
	read := func(ctx context.Context, i int) ([]domain.Example, error) {
		return runs.Run(id.Run).PairsOf(ctx, g.Bucket, id.Epoch, i+1)
	}
	slots, _, err := runs.Run(id.Run).Slots(id.Epoch).Must(ctx, g.Bucket) // an earlier epoch may have had others
	if err != nil {
		return err
	}

	return store.InOrder(ctx, len(slots.Slots), read, func(_ int, pairs []domain.Example) error {
		for _, example := range pairs {
			if fitsUpdate(given, example) {
				use(example)
			}
		}

		return nil
	})
}

// fitsUpdate reports whether the update of a specification can learn from a pair, which may have been made for another
// specification.
func fitsUpdate(specification spec.Spec, example domain.Example) bool {
	if example.Source == domain.SourceNone {
		return specification.Preference == spec.PreferenceRFT || specification.LearnsRight()
	}

	return (example.Source == domain.SourceGroup) == (specification.Preference == spec.PreferenceGRPO)
}
