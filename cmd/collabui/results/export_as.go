package results

import (
	"context"
	"fmt"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/interop"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
)

// exportAs writes a run for another tool.
func exportAs(ctx context.Context, b store.Bucket, run string, o exportOptions) (converted, error) {
	x := converted{Out: o.out, Format: o.as, build: o.build.Version}
	if _, err := runs.Run(run).Find(ctx, b); err != nil {
		return x, err
	}
	var err error
	switch o.as {
	case asATIF:
		err = x.atif(ctx, b, runs.Run(run), o)
	case asInspect:
		err = x.inspect(ctx, b, runs.Run(run), o)
	default:
		err = x.tables(ctx, b, runs.Run(run))
	}

	return x, err
}

// tables writes the tables of a run.
func (x *converted) tables(ctx context.Context, b store.Bucket, run runs.Run) error {
	r, err := interop.Read(ctx, b, run)
	if err != nil {
		return err
	}
	tables, err := r.Tables()
	if err != nil {
		return err
	}
	for _, t := range tables {
		body, err := t.CSV()
		if x.Format == asJSON {
			body, err = t.JSON()
		}
		if err != nil {
			return err
		}
		if err := x.write(t.Name+"."+x.Format, body); err != nil {
			return err
		}
	}

	return nil
}

// atif writes one trajectory per episode.
func (x *converted) atif(ctx context.Context, b store.Bucket, run runs.Run, o exportOptions) error {
	epochs, err := epochsOf(ctx, b, run, o.epoch)
	if err != nil {
		return err
	}
	for _, epoch := range epochs {
		err := x.each(ctx, b, run, epoch, func(e interop.Episode) error {
			if e.Record.Failed != "" {
				return nil
			}
			raw, err := interop.ATIF(e, x.build)
			if err != nil {
				return fault.As(fault.Fatal, err)
			}

			return x.write(fmt.Sprintf("epoch-%04d/%04d.json", epoch, e.Record.Slot.Number), raw)
		})
		if err != nil {
			return err
		}
	}

	return nil
}
