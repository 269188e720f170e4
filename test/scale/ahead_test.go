//go:build integration

package scale

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters/scripted"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/test/kit/fakepolicy"
	"github.com/collabui/collabui/test/kit/pipeline"
)

// TestRolloutsGoOnBesideUpdates plays the same run with and without staleness: 64 places whose steps have heavy-tailed
// times, updates that take a good part of the rollouts' time, and an evaluation. It prints the duration of an epoch
// after the first one, which has no earlier updates to run beside, and the share of the time in which places were busy.
// With staleness both must be better.
func TestRolloutsGoOnBesideUpdates(t *testing.T) {
	median := time.Duration(size("SCALE_LATENCY_MS", 250)) * time.Millisecond
	update := time.Duration(size("SCALE_UPDATE_S", 20)) * time.Second
	const places = 64
	epochs := size("SCALE_EPOCHS", 4)
	slots := size("SCALE_SLOTS", 384)
	fmt.Printf("\n%d places, steps of %v (median, lognormal with σ = 1), %d slots, updates of %v\n",
		places, median, slots, update)
	fmt.Println("| staleness | wall per epoch | rollouts | updates, evaluation | wall / the longer one " +
		"| places busy | before the last epoch |")
	fmt.Println("|---|---|---|---|---|---|---|")
	var took [2]phases
	for staleness := range took {
		x := playAhead(t, staleness, slots, places, epochs, median, update)
		took[staleness] = x
		longer := max(took[0].rollouts, took[0].rest)
		fmt.Printf("| %d | %.0f s | %.0f s | %.0f s | %.2f | %.2f | %.2f |\n", staleness, x.epoch, x.rollouts, x.rest,
			x.epoch/longer, x.busy, x.steady)
	}
	waits, goesOn := took[0], took[1]
	fmt.Printf("of the same episodes' times alone: batches of %d %.2f; groups of 8 of a task %.2f\n",
		places, grouped(goesOn.episodes, places, places), grouped(goesOn.episodes, places, 8))
	if goesOn.epoch >= waits.epoch || goesOn.busy <= waits.busy {
		t.Errorf("an epoch takes %.0f s with places busy for %.2f of it, want less than %.0f s and more than %.2f",
			goesOn.epoch, goesOn.busy, waits.epoch, waits.busy)
	}
}

// phases are the mean durations of the parts of a run, in seconds.
type phases struct {
	epoch, rollouts, rest float64   // epoch is the mean after the first one
	busy                  float64   // share of the places' time in which an environment made a step
	steady                float64   // the same until the last epoch begins, because nothing follows its rollouts
	episodes              []float64 // times of the rollouts' steps, in slot order
}

// playAhead plays a run on fresh services, and derives the durations from the times of the store's files.
func playAhead(
	t *testing.T, staleness, slots, places, epochs int, median, update time.Duration,
) (out phases) {
	p := start(t, fmt.Sprintf("%s=%d", pipeline.PlacesEnv, places), fmt.Sprintf("%s=%v", pipeline.LatencyEnv, median),
		fmt.Sprintf("%s=%v", pipeline.TrainEnv, update/fakepolicy.Steps))
	defer p.pipeline.Close()
	s := specification("ahead", slots, epochs)
	if s.Staleness = staleness; staleness > 0 {
		s.Gates.MaxValDrop = 1
	}
	s.Evaluation.Val, s.Evaluation.Base = 32, false
	s.Evaluation.TestSeeds, s.Evaluation.TestTemplates, s.Evaluation.TestApps = 1, 0, 0
	p.train(s)

	r := runs.Run(s.Name)
	written := func(key string) time.Time {
		info, err := os.Stat(filepath.Join(p.pipeline.Dir, "s3", "collabui", key))
		if err != nil {
			t.Fatal(err)
		}

		return info.ModTime()
	}
	busy, steady, last := 0.0, 0.0, time.Time{}
	from, to := written(r.Slots(1).Key), written(r.Slots(epochs).Key)
	for k := 1; k <= epochs; k++ {
		plan, _, err := r.Slots(k).Must(t.Context(), p.bucket)
		if err != nil {
			t.Fatal(err)
		}
		for n := range plan.Slots {
			e, _, err := r.Episode(t.Context(), p.bucket, k, n+1)
			if err != nil {
				t.Fatal(err)
			}
			took := stepsOf(e.Slot.Task, e.Outcome.Steps, median)
			busy, out.episodes = busy+took, append(out.episodes, took)
			begun, ended := written(r.Start(k, n+1, e.Attempt).Key), written(r.Attempt(k, n+1, e.Attempt).Key)
			steady += took * before(to, begun, ended)
			if at := written(r.Pairs(k, n+1).Key); at.After(last) {
				last = at
			}
		}
		for n := range s.Evaluation.Val {
			id := fmt.Sprintf("epoch-%04d/trained-%d/val", k, s.Agents)
			e, _, err := r.EvalEpisode(id, n+1).Must(t.Context(), p.bucket)
			if err != nil {
				t.Fatal(err)
			}
			took := stepsOf(e.Task, e.Outcome.Steps, median)
			ended := written(r.EvalEpisode(id, n+1).Key)
			busy += took
			steady += took * before(to, ended.Add(-time.Duration(took*float64(time.Second))), ended)
		}
		begun := last // of the updates
		if k > 1 {
			if at := written(r.Epoch(k - 1).Key); at.After(begun) {
				begun = at
			}
		}
		out.rollouts += last.Sub(written(r.Slots(k).Key)).Seconds() / float64(epochs)
		out.rest += written(r.Epoch(k).Key).Sub(begun).Seconds() / float64(epochs)
	}
	out.steady = steady / to.Sub(from).Seconds() / float64(places)
	first, end := written(r.Epoch(1).Key), written(r.Epoch(epochs).Key)
	out.epoch = end.Sub(first).Seconds() / float64(epochs-1)
	out.busy = busy / end.Sub(from).Seconds() / float64(places)

	return out
}

// before returns the share of the interval from begun to ended that precedes a time.
func before(at, begun, ended time.Time) float64 {
	return max(0, min(1, at.Sub(begun).Seconds()/ended.Sub(begun).Seconds()))
}

// stepsOf returns the time of the steps of an episode in seconds.
func stepsOf(task domain.Task, steps int, median time.Duration) (sum float64) {
	for step := range steps {
		sum += scripted.Takes(task, step+1, median).Seconds()
	}

	return sum
}

// grouped returns the share of the time in which places are busy if groups of them wait for the last episode of the
// group before the next one begins, as in batch-wise and task-wise scheduling.
func grouped(episodes []float64, places, group int) float64 {
	ends := make([]float64, places/group) // of the groups of places
	busy := 0.0
	for part := range slices.Chunk(episodes, group) {
		at := slices.Index(ends, slices.Min(ends))
		ends[at] += slices.Max(part)
		for _, took := range part {
			busy += took
		}
	}

	return busy / slices.Max(ends) / float64(places)
}
