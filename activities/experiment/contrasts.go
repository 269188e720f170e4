package experiment

import (
	"context"
	"fmt"
	"maps"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/internal/experiment"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/experiments"
	"github.com/collabui/collabui/internal/records/runs"
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

	reader := playedReader{Control: c, experiment: version.Experiment, progress: progress}
	reader.episodes = map[string][][]experiment.Episode{}
	reader.out = experiments.Result{
		Version: version.Number, Digest: version.Digest, Readers: map[string]experiments.Readers{},
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
	*Control
	experiment experiment.Experiment
	progress   activities.Progress

	out      experiments.Result
	episodes map[string][][]experiment.Episode // by play and seed
}

// readArm reads what an arm has played for all seeds.
func (r *playedReader) readArm(ctx context.Context, arm string) error {
	var updates experiments.Updates
	for seed := 1; seed <= r.experiment.Seeds; seed++ {
		ofSeed, err := experiments.ReadUpdates(ctx, r.Bucket, runs.Run(r.experiment.Run(arm, seed)))
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
	plays := append(first, second...)
	for seed := 1; seed <= r.experiment.Seeds; seed++ {
		specification, err := r.Runs.Spec(ctx, r.experiment.Run(arm, seed), activities.AtEnd)
		if err != nil {
			return err
		}
		readings := map[experiment.Play][]experiments.EpisodeReadings{}
		for _, play := range plays {
			readings[play], err = r.read(ctx, play, seed, specification.Agents)
			if err != nil {
				return err
			}
		}
		for _, play := range plays {
			r.addReaders(specification, play, readings, seed == 1)
		}
	}
	maps.DeleteFunc(r.out.Readers, func(_ string, readers experiments.Readers) bool {
		return readers.With == runs.Reading{} // no right actions are known
	})

	return nil
}

// addReaders adds what became of the answers of a system's readers with one seed. If the same policies also played
// silently, it compares both.
func (r *playedReader) addReaders(
	specification spec.Spec, play experiment.Play, readings map[experiment.Play][]experiments.EpisodeReadings,
	first bool,
) {
	if !play.Kind.Reads() || specification.Rounds < 2 {
		return
	}
	silent := play
	silent.Kind.Way = rules.WaySilent
	count := specification.Agents
	if play.Kind.Way == rules.WayLess { // its agents are not those of the silent system
		count--
		silent = experiment.Play{}
	}
	sum := experiments.ReadersOf(count, specification.Reads, readings[play], readings[silent])
	key := play.String()
	if !first {
		sum = sum.Plus(r.out.Readers[key])
	}
	r.out.Readers[key] = sum
}

// read reads a play of a seed, with what became of the answers of the given number of agents.
func (r *playedReader) read(
	ctx context.Context, play experiment.Play, seed, agents int,
) ([]experiments.EpisodeReadings, error) {
	key := play.String()
	r.progress(fmt.Sprintf("%s, seed %d", play, seed))
	played, err := experiments.ReadPlayed(ctx, r.Bucket, r.experiment, play, seed, agents)
	if err != nil {
		return nil, err
	}
	if r.out.Systems[seed-1] == nil {
		r.out.Systems[seed-1] = map[string]runs.Result{}
	}
	r.episodes[key] = append(r.episodes[key], played.Episodes)
	r.out.Systems[seed-1][key] = played.Result

	return played.Readings, nil
}
