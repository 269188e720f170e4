package evaluate

import (
	"context"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/activities/epoch"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/observe/events"
	"github.com/collabui/collabui/internal/records/runs"
)

// Finish writes end.json: the table of results and the final digest.
func (c *Control) Finish(ctx context.Context, run string) (runs.End, error) {
	return activities.Do(ctx, c.Log.For(run), func(ctx context.Context, _ activities.Progress) (runs.End, error) {
		given, err := c.Runs.Spec(ctx, run, activities.AtEnd)
		if err != nil {
			return runs.End{}, err
		}
		end, _, err := runs.Run(run).End().Record(ctx, c.Bucket, func() (runs.End, error) { return c.end(ctx, given) })
		if err == nil {
			c.Emit.Send(run, events.End{FinalDigest: end.FinalDigest, Results: end.Results})
		}

		return end, err
	})
}

func (c *Control) end(ctx context.Context, specification spec.Spec) (runs.End, error) {
	final, err := c.final(ctx, specification)
	if err != nil {
		return runs.End{}, err
	}

	run := runs.Run(specification.Name)
	end := runs.End{Best: final.Best}
	base, ref, err := run.Base().Must(ctx, c.Bucket)
	if err != nil {
		return end, err
	}
	end.Epoch = ref
	end.FinalDigest = base.Policy.Tensor
	beginning, err := c.Runs.Beginning(ctx, specification.Name, activities.AtEnd)
	if err != nil {
		return end, err
	}
	if beginning.Epoch > 0 {
		last, ref, err := run.Epoch(beginning.Epoch).Must(ctx, c.Bucket)
		if err != nil {
			return end, err
		}
		end.Epoch = ref
		end.FinalDigest = last.Digest
	}

	end.Results, err = c.table(ctx, specification, final)
	if err != nil {
		return end, err
	}
	end.Curve, err = c.curve(ctx, specification, beginning.Epoch)

	return end, err
}

// tableRow is an evaluation that the table of a run's end shows.
type tableRow struct {
	item   rules.EvalItem
	name   string // of the system, in the table
	played bool   // by this run
}

// tableRows returns the evaluations of the base and of the best system on all splits that have episodes.
func tableRows(specification spec.Spec, final Final) []tableRow {
	var rows []tableRow
	splits := append([]rules.Split{{Name: domain.SplitVal, Episodes: specification.Evaluation.Val}}, final.Splits...)
	for _, split := range splits {
		if split.Episodes == 0 {
			continue
		}
		add := func(epoch int, stored, name string, played bool) {
			item := split.Item(specification.Name, rules.EpochFolder(epoch), rules.EvalSystem{Name: stored})
			rows = append(rows, tableRow{item, name, played})
		}
		base := !final.WithoutBase || split.Name == domain.SplitVal && split.Environment == ""
		add(0, final.Base1, rules.NameBase1, base)
		if specification.Agents > 1 && specification.Speech {
			add(0, rules.SilentName(specification.Agents), rules.SilentName(specification.Agents), base)
		}
		if specification.Agents > 1 {
			add(0, rules.BaseName(specification.Agents), rules.BaseName(specification.Agents), base)
		}
		if final.Best > 0 {
			add(final.Best, rules.TrainedName(specification.Agents), rules.TrainedName(specification.Agents), true)
		}
		for _, reference := range final.References {
			if reference.Environment == split.Environment && reference.Split == split.Name {
				rows = append(rows, tableRow{reference, reference.System.Name, true})
			}
		}
	}

	return rows
}

// table reads the results of the rows of the table.
func (c *Control) table(ctx context.Context, specification spec.Spec, final Final) ([]runs.Result, error) {
	var results []runs.Result
	for _, row := range tableRows(specification, final) {
		recorded := runs.Run(specification.Name).Result(row.item.ID())
		if !row.played { // a fork may have it from its original
			_, there, err := recorded.Sure(ctx, c.Bucket)
			if err != nil {
				return nil, err
			}
			if !there {
				continue
			}
		}
		result, _, err := recorded.Must(ctx, c.Bucket)
		if err != nil {
			return nil, err
		}
		result.System = row.name
		results = append(results, result)
	}

	return results, nil
}

// curve reads the rates on val until the last epoch, from the base system at 0. Epochs that were not evaluated are left
// out.
func (c *Control) curve(ctx context.Context, specification spec.Spec, last int) ([]runs.EvalPoint, error) {
	shared, past, err := c.Runs.Past(ctx, specification.Name)
	if err != nil {
		return nil, err
	}
	var points []runs.EvalPoint
	if specification.Agents > 1 { // of one agent alone there are only base-1 systems
		base, _, err := epoch.ValResult(specification.Name, 0, rules.BaseName(specification.Agents)).Must(ctx, c.Bucket)
		if err != nil {
			return nil, err
		}
		points = append(points, runs.EvalPoint{Rate: base.Rate})
	}
	for _, pastEpoch := range past {
		if pastEpoch.Epoch > 0 {
			points = append(points, runs.EvalPoint{At: pastEpoch.Epoch, Rate: pastEpoch.Rate})
		}
	}
	for n := shared + 1; n <= last; n++ {
		val, err := epoch.Val(ctx, c.Bucket, specification, n)
		if err != nil {
			return nil, err
		}
		if val != nil {
			points = append(points, runs.EvalPoint{At: n, Rate: val.Rate})
		}
	}

	return points, nil
}
