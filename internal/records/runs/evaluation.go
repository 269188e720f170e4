package runs

import (
	"slices"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/stats"
)

// EvalEpisode is one evaluated task.
type EvalEpisode struct {
	By
	Task     domain.Task    `json:"task"`
	Goal     string         `json:"goal,omitempty"`
	Topology int            `json:"topology"`
	Outcome  domain.Outcome `json:"outcome"`
	// Steps holds the decisions, step by step. It is missing for systems without policies.
	Steps []EvalStep `json:"steps,omitempty"`
	// End is the screen after the last step. It is missing if the environment shows no such screen.
	End *Screen `json:"end,omitempty"`
}

// EvalPoint is one point of a curve.
type EvalPoint struct {
	At   int     `json:"at"`
	Rate float64 `json:"rate"`
}

// Result is a rate with its Wilson interval at 95 %.
type Result struct {
	System    string  `json:"system"`
	Split     string  `json:"split"`
	Episodes  int     `json:"episodes"`
	Successes int     `json:"successes"`
	Missing   int     `json:"missing"` // episodes without an outcome; Episodes does not count them
	Rate      float64 `json:"rate"`
	Low       float64 `json:"low"`
	High      float64 `json:"high"`
	Decoding  string  `json:"decoding"`
	Cut       int     `json:"cut,omitempty"`      // cells whose prompts lacked a part of the agent's view
	Refused   int     `json:"refused,omitempty"`  // cells whose prompts the model refused
	Repaired  int     `json:"repaired,omitempty"` // cells that were read although their format is not the prompt's
	// Cost is the cost of the agents' decisions, over all episodes that have an outcome. It is missing in older
	// results.
	Cost Cost `json:"cost,omitzero"`
	// Money is the price of Cost, if a model with a price answers for the agents.
	Money float64 `json:"money,omitempty"`

	Where // set for another environment than the run's, and for recorded tasks
}

// Where adds facts to a result that the run's name does not show: the environment by its title, the version of its data
// and, for recorded tasks, the protocol and all metrics.
type Where struct {
	Environment string            `json:"environment,omitempty"`
	Version     string            `json:"version,omitempty"`
	Protocol    string            `json:"protocol,omitempty"` // for recorded tasks; the rate is then not a success rate
	Metrics     map[string]Figure `json:"metrics,omitempty"`
}

// NewResult returns the result of n episodes with k successes.
func NewResult(system, split string, k, n, missing int, decoding string) Result {
	result := Result{System: system, Split: split, Episodes: n, Successes: k, Missing: missing, Decoding: decoding}
	if n > 0 {
		result.Rate = float64(k) / float64(n)
		result.Low, result.High = stats.Wilson(k, n)
	}

	return result
}

// Figure is a metric over recorded tasks. Micro is the mean over steps, macro the mean over tasks of each task's mean.
// The interval is the 95 % interval of micro, by bootstrap over tasks.
type Figure struct {
	Micro float64 `json:"micro"`
	Macro float64 `json:"macro"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Steps int     `json:"steps"` // steps that the metric counts
	Tasks int     `json:"tasks"`
}

// NewRecorded returns the result over recorded tasks. Its successes are tasks that are right in every step; its rate is
// the micro average of the metric that rate names. Void tasks are missing.
func NewRecorded(system, split, rate, decoding string, tasks []domain.Outcome) Result {
	result := Result{System: system, Split: split, Decoding: decoding, Where: Where{Metrics: map[string]Figure{}}}
	by := map[string][]domain.Metric{}
	for _, outcome := range tasks {
		if outcome.Void != "" {
			result.Missing++

			continue
		}
		result.Episodes++
		if outcome.Success {
			result.Successes++
		}
		for name, metric := range outcome.Metrics {
			by[name] = append(by[name], metric)
		}
	}

	for name, tasks := range by {
		result.Metrics[name] = figure(tasks)
	}
	main := result.Metrics[rate]
	result.Rate = main.Micro
	result.Low = main.Low
	result.High = main.High

	return result
}

func figure(tasks []domain.Metric) Figure {
	tasks = slices.DeleteFunc(slices.Clone(tasks), func(metric domain.Metric) bool { return metric.N == 0 })
	f := Figure{Tasks: len(tasks)}
	if len(tasks) == 0 {
		return f
	}
	for _, m := range tasks {
		f.Steps += m.N
	}
	f.Micro = stats.Micro(tasks)
	f.Macro = stats.Macro(tasks)
	f.Low, f.High = stats.Bootstrap(tasks)

	return f
}
