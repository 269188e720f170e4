package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/interop"
	"github.com/collabui/collabui/internal/local/disk"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/view"
)

// Formats of --as.
const (
	asATIF    = "atif"
	asInspect = "inspect"
	asCSV     = "csv"
	asJSON    = "json"
)

// formats lists the values of --as.
var formats = []string{asATIF, asInspect, asCSV, asJSON}

// converted describes what an export for other tools wrote.
type converted struct {
	Out      string `json:"out"`
	Format   string `json:"format"`
	Files    int    `json:"files"`
	Episodes int    `json:"episodes,omitempty"`
	Failed   int    `json:"failed,omitempty"` // slots without an episode
	Open     int    `json:"open,omitempty"`   // slots that have not ended
}

func (x converted) text(w io.Writer) {
	say(w, "%d files in %s", x.Files, x.Out)
	if x.Episodes+x.Failed+x.Open > 0 {
		say(w, "%d episodes; %d slots failed, %d have not ended", x.Episodes, x.Failed, x.Open)
	}
}

// checkAs checks the flags of an export for other tools.
func (o exportOptions) checkAs(args []string) error {
	switch {
	case !slices.Contains(formats, o.as):
		return fault.New(fault.Invalid, "--as must be one of %s, not %q", strings.Join(formats, ", "), o.as)
	case len(args) != 1 || o.line != "" || o.policy != "":
		return fault.New(fault.Invalid, "--as %s expects a run, and neither --line nor --policy", o.as)
	case o.epoch == "":
		return nil
	case o.as != asATIF && o.as != asInspect:
		return fault.New(fault.Invalid, "--epoch selects episodes, for --as %s and %s; --as %s has all epochs",
			asATIF, asInspect, o.as)
	}
	if n, err := strconv.Atoi(o.epoch); err != nil || n < 1 {
		return fault.New(fault.Invalid, "--epoch must be a number from 1 with --as %s, not %q", o.as, o.epoch)
	}

	return nil
}

// exportAs writes a run for another tool.
func exportAs(ctx context.Context, b store.Bucket, run string, o exportOptions) (converted, error) {
	x := converted{Out: o.out, Format: o.as}
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

// write writes a file of the export.
func (x *converted) write(name string, body []byte) error {
	if err := disk.Write(x.Out, name, body); err != nil {
		return fault.New(fault.Invalid, "write the export: %w", err)
	}
	x.Files++

	return nil
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
			raw, err := interop.ATIF(e, buildVersion().Version)
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

// epochsOf returns all epochs that have a plan, or only the requested one, which must have a plan.
func epochsOf(ctx context.Context, b store.Bucket, run runs.Run, asked string) ([]int, error) {
	number, _ := strconv.Atoi(asked) // checked earlier
	var out []int
	for epoch := max(1, number); ; epoch++ {
		planned, err := run.Slots(epoch).Exists(ctx, b)
		switch {
		case err != nil:
			return nil, err
		case planned:
			out = append(out, epoch)
		case asked != "":
			return nil, fmt.Errorf("run %q has not begun epoch %s: %w", string(run), asked, store.ErrNotFound)
		}
		if !planned || asked != "" {
			return out, nil
		}
	}
}

// each calls use with the end of every slot of an epoch, in order, and counts the slots. It skips slots that have not
// ended.
func (x *converted) each(
	ctx context.Context, b store.Bucket, run runs.Run, epoch int, use func(interop.Episode) error,
) error {
	slots, _, err := run.Slots(epoch).Must(ctx, b)
	if err != nil {
		return err
	}
	message, err := view.MessageOf(ctx, b, run, epoch, slots.Prompt)
	if err != nil {
		return err
	}
	for i := range slots.Slots {
		e, begun, err := view.MayEpisode(ctx, b, run, epoch, i+1)
		if err != nil {
			return err
		}
		if !begun || e.Open {
			x.Open++
			continue
		}
		if e.Episode.Failed != "" {
			x.Failed++
		} else {
			x.Episodes++
		}
		err = use(interop.Episode{
			Run: string(run), Epoch: epoch, Record: e.Episode, Rounds: e.Rounds, Topology: e.Topology, Steps: e.Steps,
			Credits: e.Credits, Pairs: e.Pairs, Void: e.Void, Message: message, Policies: slots.System.Digests(),
		})
		if err != nil {
			return err
		}
	}

	return nil
}
