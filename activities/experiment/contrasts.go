package experiment

import (
	"context"
	"fmt"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/internal/experiment"
	"github.com/collabui/collabui/internal/records/experiments"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// Tested is the result of an experiment in a few figures.
type Tested struct {
	Contrasts int
	Failed    int // claims that do not hold
}

// Test tests the contrasts of an experiment of which everything has been played, and records the result.
func (c *Control) Test(ctx context.Context, id ID) (Tested, error) {
	return activities.Do(ctx, id.log(c.Log), func(ctx context.Context, progress activities.Progress) (Tested, error) {
		name := experiments.Experiment(id.Name)
		result, _, err := name.Result(id.Version).Record(ctx, c.Bucket, func() (experiments.Result, error) {
			return c.test(ctx, id, progress)
		})
		tested := Tested{Contrasts: len(result.Rows)}
		for _, row := range result.Rows {
			if !row.Holds {
				tested.Failed++
			}
		}

		return tested, err
	})
}

func (c *Control) test(
	ctx context.Context, id ID, progress activities.Progress,
) (experiments.Result, error) {
	name := experiments.Experiment(id.Name)
	versions, err := name.Versions(ctx, c.Bucket)
	if err != nil {
		return experiments.Result{}, err
	}
	version := versions[id.Version-1]
	hadResult, err := c.hadResults(ctx, name, version.Number)
	if err != nil {
		return experiments.Result{}, err
	}

	reader := playedReader{bucket: c.Bucket, experiment: version.Experiment, progress: progress}
	reader.episodes = map[string][][]experiment.Episode{}
	reader.out = experiments.Result{
		Version: version.Number, Digest: version.Digest, Reading: map[string]runs.Reading{},
		Figures: map[string]experiment.Figures{}, Systems: make([]map[string]runs.Result, version.Experiment.Seeds),
		Updates: map[string]experiments.Updates{},
	}
	for _, arm := range version.Experiment.Arms {
		if err := reader.readArm(ctx, arm.Name); err != nil {
			return reader.out, err
		}
	}
	out := reader.out
	for key, episodes := range reader.episodes {
		out.Figures[key] = experiment.FiguresOf(episodes)
	}
	out.Rows = version.Judge(versions[:version.Number-1], func(n int) bool { return hadResult[n] },
		func(play experiment.Play) [][]experiment.Episode { return reader.episodes[play.String()] })

	return out, nil
}

// hadResults returns for which versions before a number a result existed by then.
func (c *Control) hadResults(
	ctx context.Context, name experiments.Experiment, number int,
) (map[int]bool, error) {
	had := map[int]bool{}
	for n := 1; n < number; n++ {
		_, there, err := name.Result(n).Sure(ctx, c.Bucket)
		if err != nil {
			return nil, err
		}
		had[n] = there || had[n-1]
	}

	return had, nil
}

// playedReader reads what the arms of an experiment have played.
type playedReader struct {
	bucket     store.Bucket
	experiment experiment.Experiment
	progress   activities.Progress

	out      experiments.Result
	episodes map[string][][]experiment.Episode // by play and seed
}

// readArm reads what an arm has played for all seeds.
func (r *playedReader) readArm(ctx context.Context, arm string) error {
	var updates experiments.Updates
	for seed := 1; seed <= r.experiment.Seeds; seed++ {
		ofSeed, err := experiments.ReadUpdates(ctx, r.bucket, runs.Run(r.experiment.Run(arm, seed)))
		if err != nil {
			return err
		}
		updates.Counted += ofSeed.Counted
		updates.All += ofSeed.All
	}
	if updates.All > 0 {
		r.out.Updates[arm] = updates
	}
	first, second := r.experiment.Plays(arm)
	for _, play := range append(first, second...) {
		for seed := 1; seed <= r.experiment.Seeds; seed++ {
			if err := r.read(ctx, play, seed); err != nil {
				return err
			}
		}
	}

	return nil
}

// read reads a play of a seed.
func (r *playedReader) read(ctx context.Context, play experiment.Play, seed int) error {
	key := play.String()
	r.progress(fmt.Sprintf("%s, seed %d", play, seed))
	played, err := experiments.ReadPlayed(ctx, r.bucket, r.experiment, play, seed)
	if err != nil {
		return err
	}
	if r.out.Systems[seed-1] == nil {
		r.out.Systems[seed-1] = map[string]runs.Result{}
	}
	r.episodes[key] = append(r.episodes[key], played.Episodes)
	r.out.Systems[seed-1][key] = played.Result
	if sum := r.out.Reading[key].Plus(played.Reading); sum != (runs.Reading{}) {
		r.out.Reading[key] = sum
	}

	return nil
}
