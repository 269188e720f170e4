package fork

import (
	"context"
	"slices"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// relabel finds the labels that the fork has in place of the original's. The pairs of the relabelled slots are made
// again, and the agents are trained again; the episodes and all other labels and pairs stay valid.
func (f *Fork) relabel(ctx context.Context, bucket store.Bucket, committed int) error {
	if len(f.Origin.Cells) == 0 {
		return nil
	}
	epoch := f.Origin.Epoch + 1
	if epoch > committed {
		return fault.New(fault.Invalid, "run %s has not committed epoch %d, whose labels should change",
			f.Origin.Run, epoch)
	}
	if f.Whole == f.Origin.Epoch && f.From != 0 && f.From <= spec.StepPairs {
		return fault.New(fault.Invalid, "other values change the labels, pairs or episodes of epoch %d, too: "+
			"change labels in a fork of their own", epoch)
	}
	f.Whole = f.Origin.Epoch
	f.From = spec.StepUpdate
	f.labels = map[int]runs.Credits{}
	for _, c := range f.Origin.Cells {
		if err := f.relabelCell(ctx, bucket, epoch, c); err != nil {
			return err
		}
	}

	return nil
}

// relabelCell changes one label.
func (f *Fork) relabelCell(ctx context.Context, bucket store.Bucket, epoch int, relabel runs.Relabel) error {
	from := runs.Run(f.Origin.Run)
	credits, known := f.labels[relabel.Slot]
	if !known {
		var labelled bool
		var err error
		if credits, labelled, err = from.Credits(epoch, relabel.Slot).Sure(ctx, bucket); err != nil {
			return err
		}
		if !labelled {
			return fault.New(fault.Invalid, "slot %d of epoch %d has no labels: it failed, or does not exist",
				relabel.Slot, epoch)
		}
	}
	episode, _, err := from.Episode(ctx, bucket, epoch, relabel.Slot)
	if err != nil {
		return err
	}
	steps, err := episode.ReadSteps(ctx, bucket)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(steps, func(step runs.Step) bool { return step.Number == relabel.Step })
	if i < 0 || i >= len(credits.Steps) {
		return fault.New(fault.Invalid, "slot %d of epoch %d has %d steps, and no step %d",
			relabel.Slot, epoch, len(steps), relabel.Step)
	}
	cell := slices.IndexFunc(steps[i].Decision.Cells, func(x domain.Cell) bool {
		return x.Agent == relabel.Agent && x.Round == relabel.Round
	})
	if cell < 0 || cell >= len(credits.Steps[i].Labels) {
		return fault.New(fault.Invalid, "step %d of slot %d has no cell of agent %d in round %d",
			relabel.Step, relabel.Slot, relabel.Agent, relabel.Round)
	}
	if credits.Steps[i].Labels[cell] == relabel.Label {
		return fault.New(fault.Invalid, "step %d of slot %d, agent %d, round %d: the label is %d already, "+
			"so nothing would change", relabel.Step, relabel.Slot, relabel.Agent, relabel.Round, relabel.Label)
	}

	credits.Steps = slices.Clone(credits.Steps)
	credits.Steps[i].Labels = slices.Clone(credits.Steps[i].Labels)
	credits.Steps[i].Labels[cell] = relabel.Label
	f.labels[relabel.Slot] = credits

	return nil
}

// label writes the labels that are not copied.
func (f *Fork) label(ctx context.Context, bucket store.Bucket) error {
	for slot, credits := range f.labels {
		_, _, err := f.name.Credits(f.Origin.Epoch+1, slot).Record(ctx, bucket, func() (runs.Credits, error) {
			return credits, nil
		})
		if err != nil {
			return err
		}
	}

	return nil
}
