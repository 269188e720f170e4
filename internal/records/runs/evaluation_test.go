package runs

import (
	"math"
	"reflect"
	"testing"

	"github.com/collabui/collabui/domain"
)

// recorded returns a void task, ten tasks of nine wrong steps, and thirty tasks of one step, every other of which is
// right.
func recorded() []domain.Outcome {
	tasks := []domain.Outcome{{Void: "lost"}}
	for i := range 40 {
		m := map[string]domain.Metric{"step_sr": {Sum: float64(i % 2), N: 1}}
		if i < 10 {
			m = map[string]domain.Metric{"step_sr": {Sum: 0, N: 9}, "rare": {Sum: 2, N: 4}, "none": {}}
		}
		tasks = append(tasks, domain.Outcome{Success: i >= 10 && i%2 == 1, Metrics: m})
	}

	return tasks
}

func TestRecordedTasksAreCounted(t *testing.T) {
	r := NewRecorded("s", "x", "step_sr", "d", recorded())
	if r.Episodes != 40 || r.Missing != 1 || r.Successes != 15 {
		t.Errorf("%d episodes, %d missing, %d successes; want 40, 1, 15", r.Episodes, r.Missing, r.Successes)
	}
	if sr := r.Metrics["step_sr"]; r.Rate != sr.Micro || r.Low != sr.Low || r.High != sr.High {
		t.Errorf("rate %v in %v to %v, want those of step_sr: %+v", r.Rate, r.Low, r.High, sr)
	}
}

func TestRecordedTasksAreAveragedByStepAndByTask(t *testing.T) {
	metrics := NewRecorded("s", "x", "step_sr", "d", recorded()).Metrics
	for name, want := range map[string]Figure{
		"step_sr": {Micro: 15.0 / 120, Macro: 15.0 / 40, Steps: 120, Tasks: 40},
		"rare":    {Micro: 0.5, Macro: 0.5, Low: 0.5, High: 0.5, Steps: 40, Tasks: 10},
		"none":    {},
	} {
		t.Run(name, func(t *testing.T) {
			got := metrics[name]
			if math.Abs(got.Micro-want.Micro) > 1e-12 || math.Abs(got.Macro-want.Macro) > 1e-12 {
				t.Errorf("micro %v, macro %v; want %v, %v", got.Micro, got.Macro, want.Micro, want.Macro)
			}
			if got.Steps != want.Steps || got.Tasks != want.Tasks {
				t.Errorf("%d steps of %d tasks, want %d of %d", got.Steps, got.Tasks, want.Steps, want.Tasks)
			}
			if name == "step_sr" {
				if !(0 <= got.Low && got.Low < got.Micro && got.Micro < got.High && got.High <= 1) {
					t.Errorf("interval %v to %v, want one around %v", got.Low, got.High, got.Micro)
				}
			} else if got.Low != want.Low || got.High != want.High {
				t.Errorf("interval %v to %v, want %v to %v", got.Low, got.High, want.Low, want.High)
			}
		})
	}
}

func TestTheBootstrapIsTheSameEachTime(t *testing.T) {
	first := NewRecorded("s", "x", "step_sr", "d", recorded())
	if again := NewRecorded("s", "x", "step_sr", "d", recorded()); !reflect.DeepEqual(again, first) {
		t.Errorf("again %+v, want %+v", again, first)
	}
}
