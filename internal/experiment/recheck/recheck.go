// Package recheck asks a critic that is a model again about what it has graded, to measure how consistent it is.
package recheck

import (
	"context"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/policy/endpoints"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
)

// place is one graded step of a run.
type place struct {
	epoch, slot, step int
	credits           runs.Credits
}

// Critic asks the critic of a run again about n of its graded steps, drawn by the run's seed: as they are, and with the
// agents reordered. Its calls are recorded and count towards the budget like all others; asked again, they are read. A
// critic that is not a model is an invalid fault.
func Critic(
	ctx context.Context, e *endpoints.Endpoints, s spec.Spec, c spec.Catalog, n int,
) (credit.Consistency, error) {
	var k credit.Consistency
	if s.Credit != spec.CreditCritic || s.Critic.Model == spec.RoleOracle {
		return k, fault.New(fault.Invalid, "the critic of run %q is %s: it cannot be asked again",
			s.Name, rules.CriticName(s, c))
	}
	critic, err := e.Critic(s)
	if err != nil {
		return k, err
	}
	name := rules.CriticName(s, c)
	all, err := graded(ctx, e.Bucket, s, name)
	if err != nil {
		return k, err
	}
	if len(all) == 0 {
		return k, fault.New(fault.Invalid, "the critic of run %q, %s, has graded no step yet: ask it again once "+
			"it has graded an epoch", s.Name, name)
	}

	run := runs.Run(s.Name)
	for _, i := range domain.Rand(s.Seed, "consistency").Perm(len(all))[:min(n, len(all))] {
		at := all[i]
		episode, _, err := run.Episode(ctx, e.Bucket, at.epoch, at.slot)
		if err != nil {
			return k, err
		}
		steps, err := episode.ReadSteps(ctx, e.Bucket)
		if err != nil {
			return k, err
		}

		seed := domain.Seed(s.Seed, "consistency", at.epoch, at.slot, at.step)
		labels, means := at.credits.Steps[at.step], at.credits.Audit[at.step].Means
		if err := k.Again(ctx, critic, steps[at.step].Step, labels, means, seed); err != nil {
			return k, err
		}
	}

	return k, nil
}

// graded returns all steps of a run that a critic has graded, in order: a person may have set another critic meanwhile.
func graded(ctx context.Context, b store.Bucket, s spec.Spec, critic string) ([]place, error) {
	var all []place
	for epoch := 1; epoch <= s.Epochs; epoch++ {
		for slot := 1; slot <= s.Slots; slot++ {
			c, _, err := runs.Run(s.Name).Credits(epoch, slot).May(ctx, b)
			if err != nil {
				return nil, err
			}
			if c.Critic != critic {
				continue
			}
			for step := range c.Audit {
				all = append(all, place{epoch, slot, step, c})
			}
		}
	}

	return all, nil
}
