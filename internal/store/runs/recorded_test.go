package runs

import (
	"math"
	"testing"

	"github.com/collabui/collabui/domain"
)

func TestRecordedTasksAreAveragedByStepAndByTask(t *testing.T) {
	tasks := []domain.Outcome{{Void: "lost"}}
	for i := range 40 {
		m := map[string]domain.Metric{"step_sr": {Sum: float64(i % 2), N: 1}} // one step, right in every other task
		if i < 10 {
			m = map[string]domain.Metric{"step_sr": {Sum: 0, N: 9}, "rare": {Sum: 2, N: 4}, "none": {}}
		}
		tasks = append(tasks, domain.Outcome{Success: i >= 10 && i%2 == 1, Metrics: m})
	}
	r := NewRecorded("s", "x", "step_sr", "d", tasks)
	sr := r.Metrics["step_sr"]
	if r.Episodes != 40 || r.Missing != 1 || r.Successes != 15 || sr.Steps != 120 || sr.Tasks != 40 || math.Abs(sr.Micro-15.0/120) > 1e-12 || math.Abs(sr.Macro-15.0/40) > 1e-12 {
		t.Errorf("%+v", r)
	}
	if r.Rate != sr.Micro || !(r.Low < r.Rate && r.Rate < r.High) || r.Low < 0 || r.High > 1 {
		t.Errorf("%v in %v to %v", r.Rate, r.Low, r.High)
	}
	if f := r.Metrics["rare"]; f.Micro != 0.5 || f.Low != 0.5 || f.High != 0.5 || f.Steps != 40 {
		t.Errorf("%+v", f)
	}
	if f := r.Metrics["none"]; f != (Figure{}) {
		t.Errorf("%+v", f)
	}
	if again := NewRecorded("s", "x", "step_sr", "d", tasks); again.Low != r.Low || again.High != r.High {
		t.Error("the bootstrap draws anew")
	}
}
