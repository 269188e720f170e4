package results

import (
	"context"
	"fmt"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/interop"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// exportAs writes a run for another tool.
func exportAs(ctx context.Context, bucket store.Bucket, run string, options exportOptions) (conversion, error) {
	conversion := conversion{Out: options.out, Format: options.as, build: options.build.Version}
	if _, err := runs.Run(run).Find(ctx, bucket); err != nil {
		return conversion, err
	}
	var err error
	switch options.as {
	case asATIF:
		err = conversion.atif(ctx, bucket, runs.Run(run), options)
	case asInspect:
		err = conversion.inspect(ctx, bucket, runs.Run(run), options)
	default:
		err = conversion.tables(ctx, bucket, runs.Run(run))
	}

	return conversion, err
}

// tables writes the tables of a run.
func (x *conversion) tables(ctx context.Context, bucket store.Bucket, run runs.Run) error {
	records, err := interop.Read(ctx, bucket, run)
	if err != nil {
		return err
	}
	tables, err := records.Tables()
	if err != nil {
		return err
	}
	for _, table := range tables {
		body, err := table.CSV()
		if x.Format == asJSON {
			body, err = table.JSON()
		}
		if err != nil {
			return err
		}
		if err := x.write(table.Name+"."+x.Format, body); err != nil {
			return err
		}
	}

	return nil
}

// atif writes one trajectory per episode.
func (x *conversion) atif(ctx context.Context, bucket store.Bucket, run runs.Run, options exportOptions) error {
	epochs, err := epochsOf(ctx, bucket, run, options.epoch)
	if err != nil {
		return err
	}
	for _, epoch := range epochs {
		err := x.eachSlot(ctx, bucket, run, epoch, func(episode interop.Episode) error {
			if episode.Record.Failed != "" {
				return nil
			}
			raw, err := interop.ATIF(episode, x.build)
			if err != nil {
				return fault.As(fault.Fatal, err)
			}

			return x.write(fmt.Sprintf("epoch-%04d/%04d.json", epoch, episode.Record.Slot.Number), raw)
		})
		if err != nil {
			return err
		}
	}

	return nil
}
