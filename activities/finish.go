package activities

import (
	"context"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/observe/events"
	"github.com/collabui/collabui/internal/records/runs"
)

// Finish writes end.json: the table of results and the final digest.
func (c *Control) Finish(ctx context.Context, run string) (runs.End, error) {
	return do(ctx, c.log(run), func(ctx context.Context, _ say) (runs.End, error) {
		s, err := c.spec(ctx, run, atEnd)
		if err != nil {
			return runs.End{}, err
		}
		end, _, err := runs.Run(run).End().Record(ctx, c.Bucket, func() (runs.End, error) { return c.end(ctx, s) })
		if err == nil {
			c.Emit.send(run, events.End{FinalDigest: end.FinalDigest, Results: end.Results})
		}

		return end, err
	})
}

func (c *Control) end(ctx context.Context, s spec.Spec) (runs.End, error) {
	f, err := c.final(ctx, s)
	if err != nil {
		return runs.End{}, err
	}

	run, end := runs.Run(s.Name), runs.End{Best: f.Best}
	base, ref, err := run.Base().Must(ctx, c.Bucket)
	if err != nil {
		return end, err
	}
	end.Epoch, end.FinalDigest = ref, base.Policy.Tensor
	final, err := c.begun(ctx, s.Name, atEnd)
	if err != nil {
		return end, err
	}
	if final.Epoch > 0 {
		last, ref, err := run.Epoch(final.Epoch).Must(ctx, c.Bucket)
		if err != nil {
			return end, err
		}
		end.Epoch, end.FinalDigest = ref, last.Digest
	}

	if end.Results, err = c.table(ctx, s, f); err != nil {
		return end, err
	}
	end.Curve, err = c.curve(ctx, s, final.Epoch)

	return end, err
}

// table reads the results of the base and of the best system on all splits. Splits of size 0 have none.
func (c *Control) table(ctx context.Context, s spec.Spec, f Final) ([]runs.Result, error) {
	type row struct {
		item   rules.EvalItem
		name   string // the system's name in the table
		played bool   // by this run
	}
	var rows []row
	for _, p := range append([]rules.Split{{Name: domain.SplitVal, Episodes: s.Evaluation.Val}}, f.Splits...) {
		if p.Episodes == 0 {
			continue
		}
		add := func(epoch int, stored, name string, played bool) {
			item := p.Item(s.Name, rules.EpochFolder(epoch), rules.EvalSystem{Name: stored})
			rows = append(rows, row{item, name, played})
		}
		base := !f.WithoutBase || p.Name == domain.SplitVal && p.Environment == ""
		add(0, f.Base1, rules.NameBase1, base)
		if s.Agents > 1 {
			add(0, rules.BaseName(s.Agents), rules.BaseName(s.Agents), base)
		}
		if f.Best > 0 {
			add(f.Best, rules.TrainedName(s.Agents), rules.TrainedName(s.Agents), true)
		}
		for _, r := range f.References {
			if r.Environment == p.Environment && r.Split == p.Name {
				rows = append(rows, row{r, r.System.Name, true})
			}
		}
	}

	var results []runs.Result
	for _, x := range rows {
		recorded := runs.Run(s.Name).Result(x.item.ID())
		if !x.played { // a fork may have it from its original
			if _, there, err := recorded.Sure(ctx, c.Bucket); err != nil {
				return nil, err
			} else if !there {
				continue
			}
		}
		r, _, err := recorded.Must(ctx, c.Bucket)
		if err != nil {
			return nil, err
		}
		r.System = x.name
		results = append(results, r)
	}

	return results, nil
}

// curve reads the rates on val until the last epoch, from the base system at 0. Epochs that were not evaluated are left
// out.
func (c *Control) curve(ctx context.Context, s spec.Spec, last int) ([]runs.EvalPoint, error) {
	shared, past, err := c.past(ctx, s.Name)
	if err != nil {
		return nil, err
	}
	var points []runs.EvalPoint
	if s.Agents > 1 { // of one agent alone there are only base-1 systems
		base, _, err := valResult(s.Name, 0, rules.BaseName(s.Agents)).Must(ctx, c.Bucket)
		if err != nil {
			return nil, err
		}
		points = append(points, runs.EvalPoint{Rate: base.Rate})
	}
	for _, p := range past {
		if p.Epoch > 0 {
			points = append(points, runs.EvalPoint{At: p.Epoch, Rate: p.Rate})
		}
	}
	for epoch := shared + 1; epoch <= last; epoch++ {
		v, err := c.valOf(ctx, s, epoch)
		if err != nil {
			return nil, err
		}
		if v != nil {
			points = append(points, runs.EvalPoint{At: epoch, Rate: v.Rate})
		}
	}

	return points, nil
}
