package activities

import (
	"context"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store/runs"
)

// Consistency asks the critic of a run again about n of its graded steps, drawn by the run's seed, as they are and with the agents reordered. Its calls are recorded and
// count towards the budget like all others; asked again, they are read. A critic that is no model is an invalid fault.
func (m *Models) Consistency(ctx context.Context, run string, n int) (credit.Consistency, error) {
	var k credit.Consistency
	s, err := m.spec(ctx, run)
	if err != nil {
		return k, err
	}
	if s.Credit != spec.CreditCritic || s.Critic.Model == spec.RoleOracle {
		return k, fault.New(fault.Invalid, "the critic of run %q is %s: it cannot be asked again", run, rules.CriticName(s, m.Catalog))
	}
	judge, err := m.judge(s)
	if err != nil {
		return k, err
	}
	type place struct{ epoch, slot, step int }
	var all []place
	graded := map[[2]int]runs.Credits{}
	for epoch := 1; epoch <= s.Epochs; epoch++ {
		for slot := 1; slot <= s.Slots; slot++ {
			c, _, err := runs.Run(run).Credits(epoch, slot).Read(ctx, m.Bucket)
			if missing(err) {
				continue
			}
			if err != nil {
				return k, err
			}
			graded[[2]int{epoch, slot}] = c
			for i := range c.Steps {
				all = append(all, place{epoch, slot, i})
			}
		}
	}
	for _, i := range domain.Rand(s.Seed, "consistency").Perm(len(all))[:min(n, len(all))] {
		at := all[i]
		c := graded[[2]int{at.epoch, at.slot}]
		_, _, steps, err := m.episode(ctx, SlotID{Run: run, Epoch: at.epoch, Slot: at.slot})
		if err != nil {
			return k, err
		}
		if err := k.Again(ctx, judge, steps[at.step], c.Steps[at.step], c.Audit[at.step].Means, domain.Seed(s.Seed, "consistency", at.epoch, at.slot, at.step)); err != nil {
			return k, err
		}
	}
	return k, nil
}
