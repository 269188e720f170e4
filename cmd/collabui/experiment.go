package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"go.temporal.io/sdk/client"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/examples"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/workers"
	"github.com/collabui/collabui/workers/catalog"
)

// experiment compares variants of one specification, its arms, over seeds. All arms of a seed play the same evaluation episodes.
type experiment struct {
	about  string
	spec   string // of the examples
	raw    []byte
	arms   []arm
	shared bool                            // the later arms of a seed begin with the base policy of its first
	figure func(spec.Spec, runs.End) rates // what is compared, of one finished run
	rows   []armRow
}

// arm is one variant.
type arm struct {
	name   string
	change func(s *spec.Spec, episodes int)
}

// armRow is a line of the table: a difference of two figures, each of an arm, by its index.
type armRow struct {
	name       string
	this, that string
	of, minus  int
	needs      string
	holds      func(c claim) bool
}

// experiments by their names.
func experiments() map[string]experiment {
	noise := experiment{about: "what the loop gains from a critic that errs", spec: "quickstart.yaml", raw: examples.Quickstart, shared: true, figure: testRates}
	for i, e := range []float64{0, 0.05, 0.15, 0.3, 0.5} {
		noise.arms = append(noise.arms, arm{fmt.Sprintf("e%02.0f", 100*e), func(s *spec.Spec, n int) {
			s.Critic.Error, s.Evaluation.TestSeeds, s.Evaluation.TestTemplates = e, n, 0
		}})
		row := armRow{name: fmt.Sprintf("critic errs %2.0f %%", 100*e), this: "trained", that: "base", of: i, minus: i}
		if e == 0.5 {
			row.name, row.needs, row.holds = "critic is pure noise", "lower bound not above 0: nothing is gained", func(c claim) bool { return c.Low <= 0 }
		}
		noise.rows = append(noise.rows, row)
	}
	curriculum := experiment{about: "stage 1 with levels against demonstrations only, at equal optimiser steps", spec: "curriculum.yaml", raw: examples.Curriculum, figure: valRates,
		arms: []arm{{"levels", baseOnly}, {"demonstrations", func(s *spec.Spec, n int) {
			baseOnly(s, n)
			f := &s.FineTune
			f.Levels, f.ChunkSteps, f.MaxChunks, f.StopLow, f.StopHigh = nil, f.Steps.Level1+f.Steps.Level2+f.Steps.Level3+f.Steps.Preference, 1, 1, 1
		}}},
		rows: []armRow{{"levels − demonstrations, one agent on val", "base-1", "base-1", 0, 1, "upper bound above 0: at least as good", func(c claim) bool { return c.High > 0 }},
			{"levels − demonstrations, n agents on val", "base", "base", 0, 1, "", nil}}}
	return map[string]experiment{"critic-noise": noise, "curriculum": curriculum}
}

// baseOnly leaves stage 1 and its evaluation.
func baseOnly(s *spec.Spec, episodes int) {
	s.Epochs, s.Evaluation.Val, s.Evaluation.TestSeeds, s.Evaluation.TestTemplates = 0, episodes, 0, 0
}

func testRates(s spec.Spec, end runs.End) rates { return splitRates(s, end, domain.SplitTestSeeds) }
func valRates(s spec.Spec, end runs.End) rates  { return splitRates(s, end, domain.SplitVal) }

// splitRates are a run's results on a split, by kind of system.
func splitRates(s spec.Spec, end runs.End, split string) rates {
	out := rates{}
	for _, r := range end.Results {
		if r.Split != split {
			continue
		}
		for name, kind := range map[string]string{"base-1": "base-1", rules.BaseName(s.Agents): "base", rules.TrainedName(s.Agents): "trained"} {
			if r.System == name {
				out[kind] = r.Rate
			}
		}
	}
	return out
}

// experiment trains every arm of every seed and prints the table.
func (a *app) experiment(ctx context.Context, name string, x experiment, seeds, episodes int) error {
	b, e, err := a.bucket()
	if err != nil {
		return err
	}
	t, err := workers.Dial(ctx, e, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer t.Close()
	figures := make([][]rates, len(x.arms)) // by arm, then seed
	for k := 1; k <= seeds; k++ {
		base := ""
		for i, arm := range x.arms {
			s, err := spec.Parse("examples/"+x.spec, x.raw, catalog.All{})
			if err != nil {
				return err
			}
			s.Name, s.Seed, s.FineTune.Base = fmt.Sprintf("%s-%s-r%d-%d", name, arm.name, k, episodes), uint64(k), base
			arm.change(&s, episodes)
			if err := a.finishRun(ctx, b, t, e.Namespace, s); err != nil {
				return err
			}
			end, _, err := runs.Run(s.Name).End().Read(ctx, b)
			if err != nil {
				return err
			}
			figures[i] = append(figures[i], x.figure(s, end))
			if x.shared && base == "" {
				first, _, err := runs.Run(s.Name).Base().Read(ctx, b)
				if err != nil {
					return err
				}
				base = first.Policy.Digest
			}
			if !a.json {
				_, _ = fmt.Fprintf(a.out, "seed %d, %s:", k, arm.name)
				for _, kind := range sortedKeys(figures[i][k-1]) {
					_, _ = fmt.Fprintf(a.out, " %s %.1f %%", kind, 100*figures[i][k-1][kind])
				}
				_, _ = fmt.Fprintln(a.out)
			}
		}
	}
	return a.table(x, figures, seeds, episodes)
}

// table prints the differences with intervals over seeds, and fails where a claim does not hold.
func (a *app) table(x experiment, figures [][]rates, seeds, episodes int) error {
	var claims []claim
	means := []string{}
	for _, r := range x.rows {
		var d []float64
		this, that := 0.0, 0.0
		for k := range seeds {
			p, q := figures[r.of][k][r.this], figures[r.minus][k][r.that]
			d, this, that = append(d, 100*(p-q)), this+100*p/float64(seeds), that+100*q/float64(seeds)
		}
		c := claim{Name: r.name, Needs: r.needs, Claimed: r.holds != nil}
		c.Mean, c.Low, c.High = tInterval(d)
		c.Holds = r.holds == nil || r.holds(c)
		claims, means = append(claims, c), append(means, fmt.Sprintf("%5.1f − %5.1f", this, that))
	}
	err := a.print(map[string]any{"about": x.about, "seeds": seeds, "episodes": episodes, "claims": claims, "rates": figures}, func(w io.Writer) {
		_, _ = fmt.Fprintf(w, "\n%s\n%d seeds, %d paired episodes per system and seed; mean rates, their difference in points with t-intervals over seeds at 95 %%\n\n", x.about, seeds, episodes)
		for i, c := range claims {
			_, _ = fmt.Fprintf(w, "%-44s %s = %+6.1f  [%+.1f, %+.1f]  %s\n", c.Name, means[i], c.Mean, c.Low, c.High, c.verdict())
		}
	})
	if err != nil {
		return err
	}
	return failedClaim(claims)
}

// failedClaim is the error of the first claim that does not hold.
func failedClaim(claims []claim) error {
	for _, c := range claims {
		if c.Claimed && !c.Holds {
			return fmt.Errorf("%w: %s", errFailed, c.Name)
		}
	}
	return nil
}

// finishRun records a specification and attends its run to the end; what is finished returns at once.
func (a *app) finishRun(ctx context.Context, b store.Bucket, t client.Client, namespace string, s spec.Spec) error {
	if err := s.Validate(catalog.All{}); err != nil {
		return err
	}
	if err := recordSpec(ctx, b, s, "use another data folder"); err != nil {
		return err
	}
	return a.attendRun(ctx, t, namespace, s.Name)
}
