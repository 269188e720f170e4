package experiments

import (
	"context"
	"strconv"

	"golang.org/x/sync/errgroup"

	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/internal/method/design"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
)

// parallelReads is the number of episodes that are read concurrently.
const parallelReads = 16

// Played is the outcome of one system with one seed.
type Played struct {
	Episodes []design.Episode // in the order that all systems share
	Result   runs.Result
	Reading  runs.Reading
}

// ReadPlayed reads the outcome of a system with a seed, from 1. The system must have played all episodes.
func ReadPlayed(ctx context.Context, b store.Bucket, x design.Experiment, p design.Play, seed int) (Played, error) {
	run := runs.Run(x.Run(p.Arm, seed))
	id := rules.EvalID(rules.ExperimentFolder, p.Kind.String(), p.Split)
	result, _, err := run.Result(id).Must(ctx, b)
	if err != nil {
		return Played{}, err
	}

	out := Played{Episodes: make([]design.Episode, x.Episodes[p.Split]), Result: result}
	readings := make([]runs.Reading, len(out.Episodes))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(parallelReads)
	for i := range out.Episodes {
		g.Go(func() error {
			e, _, err := run.EvalEpisode(id, i+1).Must(gctx, b)
			out.Episodes[i] = episodeOf(e)
			for _, s := range e.Steps {
				readings[i] = readings[i].Plus(s.Reading())
			}

			return err
		})
	}
	err = g.Wait()
	for _, r := range readings {
		out.Reading = out.Reading.Plus(r)
	}

	return out, err
}

// Columns are the columns of a table of episodes. A system is ARM/SYSTEM on SPLIT, seed and episode count from 1, and
// success is 0 or 1, or the share of right steps in a recorded task.
var Columns = []string{"system", "seed", "episode", "template", "success", "missing", "false_complete"}

// Lines returns the lines of a table of episodes for one system and seed.
func Lines(p design.Play, seed int, episodes []design.Episode) [][]string {
	var out [][]string
	for i, e := range episodes {
		out = append(out, []string{
			p.String(), strconv.Itoa(seed), strconv.Itoa(i + 1), e.Template,
			strconv.FormatFloat(e.Success, 'g', -1, 64), strconv.FormatBool(e.Missing), strconv.FormatBool(e.False),
		})
	}

	return out
}

// episodeOf returns the fields of an episode that contrasts need.
func episodeOf(e runs.EvalEpisode) design.Episode {
	out := design.Episode{Template: e.Task.Template, Missing: e.Outcome.Void != ""}
	out.False = !e.Outcome.Success && !e.Outcome.Truncated
	if m, ok := e.Outcome.Metrics[envadapters.StepSR]; ok && m.N > 0 {
		out.Success = m.Sum / float64(m.N)
	} else if e.Outcome.Success {
		out.Success = 1
	}

	return out
}
