package workflows

import (
	"fmt"
	"slices"
	"strings"

	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/activities"
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
	played activities.Played
	labels activities.Paired
}

// briefs is the number of failed episodes of which a page says what was done.
const briefs = 20

// episode is one slot: rollout, then labels and pairs. The critic works on one episode while the next is rolled out.
func (x *shardPage) episode(ctx workflow.Context, id activities.SlotID) (Tally, error) {
	line := episodeLine{slot: id.Slot}
	play := on(ctx, QueueRollout, fmt.Sprintf("slot %d: rollout", id.Slot))
	if err := workflow.ExecuteActivity(play, rollout.Rollout, id).Get(ctx, &line.played); err != nil {
		return Tally{}, err
	}
	t := tallyOf(id, line.played)
	if t.Failed > 0 {
		x.show(ctx, line)

		return t, nil
	}

	label := on(ctx, QueueModel, fmt.Sprintf("slot %d: credit and pairing", id.Slot))
	if err := workflow.ExecuteActivity(label, models.CreditAndPairing, id).Get(ctx, &line.labels); err != nil {
		return t, err
	}
	t.graded(id, line.labels.Credited)
	t.Pairs = line.labels.Pairs
	x.show(ctx, line)

	return t, nil
}

// tallyOf counts an episode that was played.
func tallyOf(id activities.SlotID, p activities.Played) Tally {
	t := Tally{Done: 1, Cells: p.Cells, RefusedCells: p.Refused, Graded: p.Steps}
	if p.Success {
		t.Successes = 1
	}
	if p.Failed != "" {
		t.Failed, t.Why = 1, fmt.Sprintf("slot %d: %s", id.Slot, p.Failed)
	}

	return t
}

// graded counts the steps about which a critic said nothing of use.
func (t *Tally) graded(id activities.SlotID, c activities.Credited) {
	if t.RefusedGrades = c.Refused; t.RefusedCells+t.RefusedGrades > 0 {
		t.WhyRefused = fmt.Sprintf("slot %d", id.Slot)
	}
	if c.Why != "" {
		t.WhyRefused += " (" + c.Why + ")"
	}
}

// show adds an episode to the page.
func (x *shardPage) show(ctx workflow.Context, line episodeLine) {
	at, _ := slices.BinarySearchFunc(x.lines, line.slot, func(l episodeLine, slot int) int { return l.slot - slot })
	x.lines = slices.Insert(x.lines, at, line)
	workflow.SetCurrentDetails(ctx, x.text())
}

// end lets lists of workflows show a shard's share of successes.
func (x *shardPage) end(ctx workflow.Context, t Tally) error {
	return workflow.UpsertTypedSearchAttributes(ctx, attrRun.ValueSet(x.in.Run),
		attrEpoch.ValueSet(int64(x.in.Epoch)), attrRate.ValueSet(float64(t.Successes)/float64(max(t.Done, 1))))
}

// text returns the page as Markdown.
func (x *shardPage) text() string {
	lines := []string{"| slot | | steps | right, wrong, uncertain | pairs | |", "|---|---|---|---|---|---|"}
	var failed []string
	n := 0
	for _, l := range x.lines {
		p, c := l.played, l.labels
		if p.Failed != "" {
			lines = append(lines, fmt.Sprintf("| %s | **no episode** | | | | %s |", x.link(l.slot), plain(p.Failed)))
			continue
		}
		lines = append(lines, fmt.Sprintf("| %s | %s | %d | %d, %d, %d | %d | attempt %d, on %s |", x.link(l.slot),
			outcome(p), p.Steps, c.Positive, c.Negative, c.Uncertain, c.Pairs, p.Attempt, plain(p.Host)))
		if p.Success {
			continue
		}
		if n++; n <= briefs {
			failed = append(failed,
				fmt.Sprintf("\nslot %d **failed** after %d steps:\n\n%s", l.slot, p.Steps, code(p.Brief)))
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
func outcome(p activities.Played) string {
	if p.Success {
		return "success"
	}

	return "**failed**"
}
