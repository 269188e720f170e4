package experiments_test

import (
	"reflect"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/records/experiments"
	"github.com/collabui/collabui/internal/records/runs"
)

// played returns an episode on an evaluation topology in which 10^i answers of agent i turned right.
func played(topology int) experiments.EpisodeReadings {
	return experiments.EpisodeReadings{Topology: topology, ByAgent: []runs.Reading{
		{WrongRight: 1}, {WrongRight: 10}, {WrongRight: 100}, {WrongRight: 1000},
	}}
}

// twice returns the same episode with twice the counts, on the only topology of a silent system.
func twice(episode experiments.EpisodeReadings) experiments.EpisodeReadings {
	out := experiments.EpisodeReadings{}
	for _, reading := range episode.ByAgent {
		out.ByAgent = append(out.ByAgent, reading.Plus(reading))
	}

	return out
}

// digits returns 10^i for every agent i that has predecessors on an evaluation topology, added up.
func digits(topology int) int {
	sum := 0
	for agent, digit := range []int{1, 10, 100, 1000} {
		if len(domain.EvaluationTopologies(4)[topology].Preds(agent)) > 0 {
			sum += digit
		}
	}

	return sum
}

func TestOnlyAgentsThatReadAreReaders(t *testing.T) {
	for topology := range 4 {
		want := digits(topology)
		if want == 0 || want == 1111 {
			t.Fatalf("topology %d has the readers %d, want some agents that read and some that do not", topology, want)
		}
		episodes := []experiments.EpisodeReadings{played(topology)}
		got := experiments.ReadersOf(4, agents.ReadDAG, episodes, nil)
		if got.With.WrongRight != want || got.Without != nil {
			t.Errorf("topology %d: the readers are %+v, want %d with messages only", topology, got, want)
		}
		if got := experiments.ReadersOf(4, agents.ReadBack, episodes, nil); got.With.WrongRight != 1111 {
			t.Errorf("topology %d: %+v read back, want all agents", topology, got.With)
		}
	}
}

func TestReadersAreComparedInTheSameEpisodesWithoutMessages(t *testing.T) {
	var episodes, silent []experiments.EpisodeReadings
	for topology := range 4 {
		episodes = append(episodes, played(topology))
		silent = append(silent, twice(played(topology)))
	}
	episodes[1].Missing = true
	silent[2].Missing = true
	want := digits(0) + digits(3)

	got := experiments.ReadersOf(4, agents.ReadDAG, episodes, silent)
	if got.With.WrongRight != want || got.Without == nil || got.Without.WrongRight != 2*want {
		t.Errorf("the readers are %+v, %+v; want %d and %d, of the readers' episodes that both played",
			got.With, got.Without, want, 2*want)
	}
	sum := got.Plus(got)
	if sum.With.WrongRight != 2*want || sum.Without.WrongRight != 4*want || got.Without.WrongRight != 2*want {
		t.Errorf("the sum is %+v, %+v, want twice as many", sum.With, sum.Without)
	}
	if sum := got.Plus(experiments.Readers{}); !reflect.DeepEqual(sum, experiments.Readers{With: got.With}) {
		t.Errorf("the sum with a seed without a silent system is %+v, want no comparison", sum)
	}
}
