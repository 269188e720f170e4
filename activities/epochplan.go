package activities

import (
	"context"
	"fmt"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
)

// epochPlan is what all rollouts of an epoch begin with. It is written once.
type epochPlan struct {
	epoch    int
	slots    runs.Slots
	topology domain.Topology
	ref      store.Ref // the topology's
}

// plan returns the plan of an epoch. That of a run's newest epoch is kept, so the cost of a rollout does not grow with
// the number of slots.
func (r *Rollouts) plan(ctx context.Context, run string, epoch int) (*epochPlan, error) {
	v, err := r.versions(ctx, run)
	if err != nil {
		return nil, err
	}
	v.mu.Lock()
	p := v.plan
	v.mu.Unlock()
	if p != nil && p.epoch == epoch {
		return p, nil
	}

	// All rollouts of an epoch begin at once. One of them reads for all, whatever becomes of it.
	read, err, _ := r.reads.Do(fmt.Sprint(run, "/", epoch), func() (any, error) {
		p, err := r.readPlan(context.WithoutCancel(ctx), runs.Run(run), epoch)
		if err == nil {
			v.mu.Lock()
			v.plan = p
			v.mu.Unlock()
		}

		return p, err
	})

	return read.(*epochPlan), err
}

func (r *Rollouts) readPlan(ctx context.Context, run runs.Run, epoch int) (p *epochPlan, err error) {
	p = &epochPlan{epoch: epoch}
	if p.slots, _, err = run.Slots(epoch).Read(ctx, r.Bucket); err != nil {
		return p, err
	}
	p.topology, p.ref, err = run.Topology(epoch).Read(ctx, r.Bucket)

	return p, err
}
