package results

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/collabui/collabui/cmd/collabui/terminal"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/interop"
	"github.com/collabui/collabui/internal/local/disk"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/view"
)

// conversion describes what an export for other tools wrote.
type conversion struct {
	Out      string `json:"out"`
	Format   string `json:"format"`
	Files    int    `json:"files"`
	Episodes int    `json:"episodes,omitempty"`
	Failed   int    `json:"failed,omitempty"` // slots without an episode
	Open     int    `json:"open,omitempty"`   // slots that have not ended

	build string // version of the program that exports
}

func (x conversion) text(out io.Writer) {
	terminal.Line(out, "%s in %s", terminal.Count(x.Files, "file"), x.Out)
	if x.Episodes+x.Failed+x.Open > 0 {
		terminal.Line(out, "%s; %s failed, %d not ended", terminal.Count(x.Episodes, "episode"),
			terminal.Count(x.Failed, "slot"), x.Open)
	}
}

// write writes a file of the export.
func (x *conversion) write(name string, body []byte) error {
	if err := disk.Write(x.Out, name, body); err != nil {
		return fault.New(fault.Invalid, "write the export: %w", err)
	}
	x.Files++

	return nil
}

// eachSlot calls use with the end of every slot of an epoch, in order, and counts the slots. It skips slots that have
// not ended.
func (x *conversion) eachSlot(
	ctx context.Context, bucket store.Bucket, run runs.Run, epoch int, use func(interop.Episode) error,
) error {
	slots, _, err := run.Slots(epoch).Must(ctx, bucket)
	if err != nil {
		return err
	}
	message, err := view.MessageOf(ctx, bucket, run, epoch, slots.Prompt)
	if err != nil {
		return err
	}
	for i := range slots.Slots {
		e, begun, err := view.MayEpisode(ctx, bucket, run, epoch, i+1)
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

// epochsOf returns all epochs that have a plan, or only the requested one, which must have a plan.
func epochsOf(ctx context.Context, bucket store.Bucket, run runs.Run, asked string) ([]int, error) {
	number, _ := strconv.Atoi(asked) // checked earlier
	var out []int
	for epoch := max(1, number); ; epoch++ {
		planned, err := run.Slots(epoch).Exists(ctx, bucket)
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
