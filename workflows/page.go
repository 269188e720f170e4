package workflows

import (
	"fmt"
	"slices"
	"strings"

	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/activities/grade"
	"github.com/collabui/collabui/activities/rollout"
)

// shardPage is what the Temporal UI shows of a shard: a line for every episode that has ended, and what was done in
// those that did not succeed.
type shardPage struct {
	in    ShardInput
	lines []episodeLine // by slot
}

// episodeLine is the line of an episode.
type episodeLine struct {
	slot   int
	played rollout.Played
	labels grade.Paired
}

// briefs is the number of failed episodes of which a page shows what was done.
const briefs = 20

// episode is one slot: rollout, then labels and pairs. The critic works on one episode while the next is rolled out.
func (x *shardPage) episode(ctx workflow.Context, id activities.SlotID) (Tally, error) {
	line := episodeLine{slot: id.Slot}
	play := on(ctx, QueueRollout, fmt.Sprintf("slot %d: rollout", id.Slot))
	if err := workflow.ExecuteActivity(play, rollouts.Rollout, id).Get(ctx, &line.played); err != nil {
		return Tally{}, err
	}
	tally := tallyOf(id, line.played)
	if tally.Failed > 0 {
		x.show(ctx, line)

		return tally, nil
	}

	label := on(ctx, QueueModel, fmt.Sprintf("slot %d: credit and pairing", id.Slot))
	if err := workflow.ExecuteActivity(label, models.CreditAndPairing, id).Get(ctx, &line.labels); err != nil {
		return tally, err
	}
	tally.graded(id, line.labels.Credited)
	tally.Pairs = line.labels.Pairs
	x.show(ctx, line)

	return tally, nil
}

// tallyOf counts an episode that was played.
func tallyOf(id activities.SlotID, played rollout.Played) Tally {
	tally := Tally{Done: 1, Cells: played.Cells, RefusedCells: played.Refused, Graded: played.Steps}
	if played.Success {
		tally.Successes = 1
	}
	if played.Failed != "" {
		tally.Failed = 1
		tally.Why = fmt.Sprintf("slot %d: %s", id.Slot, played.Failed)
	}

	return tally
}

// graded counts the steps about which a critic said nothing of use.
func (t *Tally) graded(id activities.SlotID, labels grade.Credited) {
	t.RefusedGrades = labels.Refused
	if t.RefusedCells+t.RefusedGrades > 0 {
		t.WhyRefused = fmt.Sprintf("slot %d", id.Slot)
	}
	if labels.Why != "" {
		t.WhyRefused += " (" + labels.Why + ")"
	}
}

// show adds an episode to the page.
func (x *shardPage) show(ctx workflow.Context, line episodeLine) {
	order := func(shown episodeLine, slot int) int { return shown.slot - slot }
	at, _ := slices.BinarySearchFunc(x.lines, line.slot, order)
	x.lines = slices.Insert(x.lines, at, line)
	workflow.SetCurrentDetails(ctx, x.text())
}

// end lets lists of workflows show a shard's share of successes.
func (x *shardPage) end(ctx workflow.Context, tally Tally) error {
	return workflow.UpsertTypedSearchAttributes(ctx, attrRun.ValueSet(x.in.Run), attrEpoch.ValueSet(int64(x.in.Epoch)),
		setRate(float64(tally.Successes)/float64(max(tally.Done, 1)), tally.Done > 0))
}

// text returns the page as Markdown.
func (x *shardPage) text() string {
	lines := []string{"| slot | | steps | right, wrong, uncertain | pairs | |", "|---|---|---|---|---|---|"}
	var failed []string
	n := 0
	for _, line := range x.lines {
		played := line.played
		labels := line.labels
		if played.Failed != "" {
			lines = append(lines,
				fmt.Sprintf("| %s | **no episode** | | | | %s |", x.link(line.slot), plain(played.Failed)))
			continue
		}
		lines = append(lines, fmt.Sprintf("| %s | %s | %d | %d, %d, %d | %d | attempt %d, on %s |", x.link(line.slot),
			outcome(played), played.Steps, labels.Positive, labels.Negative, labels.Uncertain, labels.Pairs,
			played.Attempt, plain(played.Host)))
		if played.Success {
			continue
		}
		if n++; n <= briefs {
			failed = append(failed,
				fmt.Sprintf("\nslot %d **failed** after %d steps:\n\n%s", line.slot, played.Steps, code(played.Brief)))
		}
	}
	if n > briefs {
		failed = append(failed, fmt.Sprintf("\nand %d more episodes that failed", n-briefs))
	}

	return strings.Join(append(lines, failed...), "\n") + "\n"
}

// link returns the number of a slot, which leads to its page if there is a viewer.
func (x *shardPage) link(slot int) string {
	if x.in.View == "" {
		return fmt.Sprint(slot)
	}
	view := strings.TrimSuffix(x.in.View, "/")

	return fmt.Sprintf("[%d](%s/#/episode/%s/%d/%[1]d)", slot, view, x.in.Run, x.in.Epoch)
}

// outcome returns success or failed, as Markdown.
func outcome(played rollout.Played) string {
	if played.Success {
		return "success"
	}

	return "**failed**"
}
