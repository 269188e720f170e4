package results

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/cmd/collabui/terminal"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/workers/catalog"
)

// creditReport is the output of show RUN critic.
type creditReport struct {
	Run    string `json:"run"`
	Critic string `json:"critic"`
	*credit.Check
}

// showCritic compares the critic of a run with the environment's judge and with outcomes.
func showCritic(ctx context.Context, a *app.App, bucket store.Bucket, run string) error {
	specification, err := runs.Run(run).Current(ctx, bucket)
	if err != nil {
		return err
	}
	report := creditReport{Run: specification.Name, Critic: rules.CriticName(specification, catalog.All{})}
	if report.Check, err = checkCredit(ctx, bucket, specification); err != nil {
		return err
	}

	return a.Print(report, report.text)
}

// checkCredit reads all graded episodes of a run, committed or not.
func checkCredit(ctx context.Context, bucket store.Bucket, specification spec.Spec) (*credit.Check, error) {
	check := credit.NewCheck()
	run := runs.Run(specification.Name)
	for epoch := 1; epoch <= specification.Epochs; epoch++ {
		given, err := run.At(ctx, bucket, epoch)
		if err != nil {
			return check, err
		}
		for slot := 1; slot <= given.Slots; slot++ {
			if err := addEpisode(ctx, bucket, check, run, epoch, slot); err != nil {
				return check, err
			}
		}
	}

	return check, nil
}

// addEpisode adds the episode of a slot if it is graded.
func addEpisode(ctx context.Context, bucket store.Bucket, check *credit.Check, run runs.Run, epoch, slot int) error {
	credits, labelled, err := run.Credits(epoch, slot).May(ctx, bucket)
	if err != nil || !labelled {
		return err
	}
	episode, _, err := store.Must[runs.Episode](ctx, bucket, credits.Episode.Key)
	if err != nil {
		return err
	}
	recorded, err := episode.ReadSteps(ctx, bucket)
	if err != nil {
		return err
	}
	var steps []domain.Step
	for _, step := range recorded {
		steps = append(steps, step.Step)
	}
	check.Add(steps, credits.Steps, credits.Audit, episode.Outcome.Success)

	pairs, _, err := run.Pairs(epoch, slot).May(ctx, bucket)
	check.AddAudits(pairs.Audit)

	return err
}

func (r creditReport) text(out io.Writer) {
	terminal.Line(out, "critic: %s · %s\n", r.Critic, terminal.Count(r.Steps, "step"))
	printLabels(out, r.Check)
	printCalibration(out, r.Check)
}

// printLabels prints how the labels compare with the judge's, in all and by action type, and with outcomes.
func printLabels(out io.Writer, check *credit.Check) {
	terminal.Line(out, "%-18s %9s %9s %9s   %9s", "judge \\ critic", "1", "0", "∅", "agreement")
	for i, name := range []string{"1", "0", "∅ (unknown)"} {
		terminal.Line(out, "%-18s %9d %9d %9d", name, check.All[i][0], check.All[i][1], check.All[i][2])
	}

	terminal.Line(out, "\nby action type")
	for _, kind := range slices.Sorted(maps.Keys(check.ByAction)) {
		printAgreement(out, kind, check.ByAction[kind])
	}
	printAgreement(out, "all", check.All)
	terminal.Line(out,
		"\nexecuted actions by the episode's outcome: succeeded %d labelled 1, %d labelled 0; failed %d and %d",
		check.Outcomes[0][0], check.Outcomes[0][1], check.Outcomes[1][0], check.Outcomes[1][1])
}

// printAgreement prints the number of labels of each kind, and how many agree with the judge.
func printAgreement(out io.Writer, name string, confusion credit.Confusion) {
	rate, n := confusion.Agreement()
	agreement := "-"
	if n > 0 {
		agreement = fmt.Sprintf("%.1f %%", 100*rate)
	}
	label := func(i int) int { return confusion[0][i] + confusion[1][i] + confusion[2][i] }
	terminal.Line(out, "%-18s %9d %9d %9d   %9s of %d", name, label(0), label(1), label(2), agreement, n)
}

// printCalibration prints what only a model critic has: scores, and answers that had to be repaired.
func printCalibration(out io.Writer, check *credit.Check) {
	graded := false
	for _, bin := range check.Bins {
		if bin.Cells == 0 {
			continue
		}
		if !graded {
			terminal.Line(out, "\ncalibration: score, cells, of which right according to the judge")
		}
		graded = true
		terminal.Line(out, "%.1f to %.1f  mean %.2f  %6d  %5.1f %%",
			bin.Low, bin.Low+0.1, bin.Score, bin.Cells, 100*float64(bin.Right)/float64(bin.Cells))
	}
	if !graded {
		return
	}
	terminal.Line(out, "\n%d of %d right cells were called right again when shuffled among candidates · %s · "+
		"answers that stayed unreadable %d, incomplete %d · largest spread within one action %.2f",
		check.Again, check.Blinded, terminal.Count(check.Repairs, "repair"),
		check.Faults[credit.FaultShape], check.Faults[credit.FaultMissing], check.Spread)
}
