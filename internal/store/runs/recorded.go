package runs

import (
	"slices"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/stats"
)

// Where says of a result what the run's name does not: the environment by its title, what data it played, and for recorded tasks the protocol and all metrics.
type Where struct {
	Environment string            `json:"environment,omitempty"`
	Version     string            `json:"version,omitempty"`
	Protocol    string            `json:"protocol,omitempty"` // of recorded tasks: the rate is step_sr, never a success rate
	Metrics     map[string]Figure `json:"metrics,omitempty"`
}

// Figure is a metric over recorded tasks: micro is the mean over steps, macro the mean over tasks of their means. The interval is that of micro at 95 %, by bootstrap over tasks.
type Figure struct {
	Micro float64 `json:"micro"`
	Macro float64 `json:"macro"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Steps int     `json:"steps"` // that the metric counts
	Tasks int     `json:"tasks"`
}

// NewRecorded is a result over recorded tasks: successes are tasks that are right in full, the rate is the named metric's micro average. Tasks without an outcome are missing.
func NewRecorded(system, split, rate, decoding string, tasks []domain.Outcome) Result {
	r := Result{System: system, Split: split, Decoding: decoding, Where: Where{Metrics: map[string]Figure{}}}
	by := map[string][]domain.Metric{}
	for _, t := range tasks {
		if t.Void != "" {
			r.Missing++
			continue
		}
		r.Episodes++
		if t.Success {
			r.Successes++
		}
		for name, m := range t.Metrics {
			by[name] = append(by[name], m)
		}
	}
	for name, ms := range by {
		r.Metrics[name] = figure(ms)
	}
	r.Rate, r.Low, r.High = r.Metrics[rate].Micro, r.Metrics[rate].Low, r.Metrics[rate].High
	return r
}

func figure(tasks []domain.Metric) Figure {
	tasks = slices.DeleteFunc(slices.Clone(tasks), func(m domain.Metric) bool { return m.N == 0 })
	f := Figure{Tasks: len(tasks)}
	if len(tasks) == 0 {
		return f
	}
	for _, m := range tasks {
		f.Steps += m.N
	}
	f.Micro, f.Macro = stats.Micro(tasks), stats.Macro(tasks)
	f.Low, f.High = stats.Bootstrap(tasks)

	return f
}
