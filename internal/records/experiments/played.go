package experiments

import (
	"context"
	"strconv"

	"golang.org/x/sync/errgroup"

	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/internal/experiment"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// parallelReads is the number of episodes that are read concurrently.
const parallelReads = 16

// Played is the outcome of one system with one seed.
type Played struct {
	Episodes []experiment.Episode // in the order that all systems share
	Readings []EpisodeReadings    // in the same order
	Result   runs.Result
}

// ReadPlayed reads the outcome of a system with a seed, from 1. The system must have played all episodes. agents is the
// number of the arm's agents whose answers are compared; 0 compares none.
func ReadPlayed(
	ctx context.Context, bucket store.Bucket, x experiment.Experiment, play experiment.Play, seed, agents int,
) (Played, error) {
	run := runs.Run(x.Run(play.Arm, seed))
	id := rules.EvalID(rules.ExperimentFolder, play.Kind.String(), play.Split)
	result, _, err := run.Result(id).Must(ctx, bucket)
	if err != nil {
		return Played{}, err
	}

	out := Played{Episodes: make([]experiment.Episode, x.Episodes[play.Split]), Result: result}
	out.Readings = make([]EpisodeReadings, len(out.Episodes))
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelReads)
	for i := range out.Episodes {
		group.Go(func() error {
			evalEpisode, _, err := run.EvalEpisode(id, i+1).Must(gctx, bucket)
			out.Episodes[i] = episodeOf(evalEpisode)
			out.Readings[i] = readingsOf(evalEpisode, agents)

			return err
		})
	}

	return out, group.Wait()
}

// Columns are the columns of a table of episodes. A system is ARM/SYSTEM on SPLIT, seed and episode count from 1, and
// success is 0 or 1, or the share of right steps in a recorded task.
var Columns = []string{"system", "seed", "episode", "template", "success", "missing", "false_complete"}

// Lines returns the lines of a table of episodes for one system and seed.
func Lines(play experiment.Play, seed int, episodes []experiment.Episode) [][]string {
	var out [][]string
	for i, e := range episodes {
		out = append(out, []string{
			play.String(), strconv.Itoa(seed), strconv.Itoa(i + 1), e.Template,
			strconv.FormatFloat(e.Success, 'g', -1, 64), strconv.FormatBool(e.Missing), strconv.FormatBool(e.False),
		})
	}

	return out
}

// episodeOf returns the fields of an episode that contrasts need.
func episodeOf(evalEpisode runs.EvalEpisode) experiment.Episode {
	out := experiment.Episode{Template: evalEpisode.Task.Template, Missing: evalEpisode.Outcome.Void != ""}
	for _, evalStep := range evalEpisode.Steps {
		if entropy, ok := evalStep.Entropy(); ok {
			out.Decisions++
			out.Entropy += entropy
		}
	}
	out.False = !evalEpisode.Outcome.Success && !evalEpisode.Outcome.Truncated
	if metric, ok := evalEpisode.Outcome.Metrics[envadapters.StepSR]; ok && metric.N > 0 {
		out.Success = metric.Sum / float64(metric.N)
	} else if evalEpisode.Outcome.Success {
		out.Success = 1
	}

	return out
}
