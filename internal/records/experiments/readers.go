package experiments

import (
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/records/runs"
)

// Readers counts what became of the answers of agents that read messages (docs/method.md, Effect of reading).
type Readers struct {
	With runs.Reading `json:"with"`
	// Without counts successive answers of the same agents in the same episodes, played by the silent system. It is nil
	// if no silent system played.
	Without *runs.Reading `json:"without,omitempty"`
}

// Plus returns the sum of both. Without is nil if either lacks it.
func (r Readers) Plus(readers Readers) Readers {
	out := Readers{With: r.With.Plus(readers.With)}
	if r.Without != nil && readers.Without != nil {
		without := r.Without.Plus(*readers.Without)
		out.Without = &without
	}

	return out
}

// EpisodeReadings holds what became of the answers in one episode.
type EpisodeReadings struct {
	Topology int  // number of the evaluation topology
	Missing  bool // the episode has no outcome
	ByAgent  []runs.Reading
}

// readingsOf returns what became of the answers of some agents in an episode.
func readingsOf(evalEpisode runs.EvalEpisode, count int) EpisodeReadings {
	out := EpisodeReadings{
		Topology: evalEpisode.Topology, Missing: evalEpisode.Outcome.Void != "", ByAgent: make([]runs.Reading, count),
	}
	if count == 0 {
		return out
	}
	for _, evalStep := range evalEpisode.Steps {
		for agent, reading := range evalStep.Readings(count) {
			out.ByAgent[agent] = out.ByAgent[agent].Plus(reading)
		}
	}

	return out
}

// ReadersOf sums the readings of the agents that read messages in further rounds, over the episodes of a system of the
// given number of agents. silent holds the same episodes as the silent system played them, or is nil. If it is not nil,
// episodes that either system lacks are left out.
func ReadersOf(count int, reads agents.Reads, episodes, silent []EpisodeReadings) Readers {
	var out Readers
	if silent != nil {
		out.Without = &runs.Reading{}
	}
	topologies := domain.EvaluationTopologies(count)
	for i, episode := range episodes {
		if episode.Missing || silent != nil && silent[i].Missing {
			continue
		}
		config := agents.Config{Topology: topologies[episode.Topology%len(topologies)], Reads: reads}
		for agent := range count {
			if len(config.Sources(agent, 1)) == 0 { // sources are the same in all rounds after the first
				continue
			}
			out.With = out.With.Plus(episode.ByAgent[agent])
			if silent != nil {
				*out.Without = out.Without.Plus(silent[i].ByAgent[agent])
			}
		}
	}

	return out
}
