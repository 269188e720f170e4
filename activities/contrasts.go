package activities

import (
	"context"
	"fmt"

	"github.com/collabui/collabui/internal/experiment"
	"github.com/collabui/collabui/internal/records/experiments"
	"github.com/collabui/collabui/internal/records/runs"
)

// Tested is the result of an experiment in a few figures.
type Tested struct {
	Contrasts int
	Failed    int // claims that do not hold
}

// Test tests the contrasts of an experiment of which everything has been played, and records the result.
func (c *Control) Test(ctx context.Context, id ExperimentID) (Tested, error) {
	return do(ctx, id.log(c), func(ctx context.Context, say say) (Tested, error) {
		name := experiments.Experiment(id.Name)
		r, _, err := name.Result(id.Version).Record(ctx, c.Bucket, func() (experiments.Result, error) {
			return c.test(ctx, id, say)
		})
		out := Tested{Contrasts: len(r.Rows)}
		for _, row := range r.Rows {
			if !row.Holds {
				out.Failed++
			}
		}

		return out, err
	})
}

func (c *Control) test(ctx context.Context, id ExperimentID, say say) (experiments.Result, error) {
	name := experiments.Experiment(id.Name)
	all, err := name.Versions(ctx, c.Bucket)
	if err != nil {
		return experiments.Result{}, err
	}
	v := all[id.Version-1]
	out := experiments.Result{Version: v.Number, Digest: v.Digest, Reading: map[string]runs.Reading{}}
	out.Figures = map[string]experiment.Figures{}
	known := map[int]bool{} // versions of which a result existed
	for n := 1; n < v.Number; n++ {
		_, there, err := name.Result(n).Sure(ctx, c.Bucket)
		if err != nil {
			return out, err
		}
		known[n] = there || known[n-1]
	}

	x := v.Experiment
	out.Systems = make([]map[string]runs.Result, x.Seeds)
	played := map[string][][]experiment.Episode{}
	out.Updates = map[string]experiments.Updates{}
	for _, arm := range x.Arms {
		var made experiments.Updates
		for seed := 1; seed <= x.Seeds; seed++ {
			u, err := experiments.ReadUpdates(ctx, c.Bucket, runs.Run(x.Run(arm.Name, seed)))
			if err != nil {
				return out, err
			}
			made.Counted, made.All = made.Counted+u.Counted, made.All+u.All
		}
		if made.All > 0 {
			out.Updates[arm.Name] = made
		}
		one, two := x.Plays(arm.Name)
		for _, p := range append(one, two...) {
			for seed := 1; seed <= x.Seeds; seed++ {
				say(fmt.Sprintf("%s, seed %d", p, seed))
				did, err := experiments.ReadPlayed(ctx, c.Bucket, x, p, seed)
				if err != nil {
					return out, err
				}
				if out.Systems[seed-1] == nil {
					out.Systems[seed-1] = map[string]runs.Result{}
				}
				played[p.String()] = append(played[p.String()], did.Episodes)
				out.Systems[seed-1][p.String()] = did.Result
				if sum := out.Reading[p.String()].Plus(did.Reading); sum != (runs.Reading{}) {
					out.Reading[p.String()] = sum
				}
			}
		}
	}
	for key, episodes := range played {
		out.Figures[key] = experiment.FiguresOf(episodes)
	}
	out.Rows = v.Judge(all[:v.Number-1], func(n int) bool { return known[n] },
		func(p experiment.Play) [][]experiment.Episode { return played[p.String()] })

	return out, nil
}
