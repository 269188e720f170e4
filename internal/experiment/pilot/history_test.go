package pilot

import (
	"context"
	"math"
	"testing"
	"time"

	common "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/payloads"
	"github.com/collabui/collabui/internal/records/runs"
)

// ran returns an activity that ran between two hours.
func ran(from, to int) activity {
	return activity{from: time.Unix(3600*int64(from), 0), to: time.Unix(3600*int64(to), 0)}
}

// recorded is a Temporal client with one history.
type recorded struct {
	client.Client
	client.HistoryEventIterator
	events []*history.HistoryEvent
}

func (r *recorded) GetWorkflowHistory(
	context.Context, string, string, bool, enums.HistoryEventFilterType,
) client.HistoryEventIterator {
	return r
}

func (r *recorded) HasNext() bool { return len(r.events) > 0 }

func (r *recorded) Next() (*history.HistoryEvent, error) {
	e := r.events[0]
	r.events = r.events[1:]

	return e, nil
}

// evaluation returns the history of an activity that played 7 episodes, as workers with keys write it.
func evaluation(t *testing.T, keys string) *recorded {
	t.Helper()
	codec, err := payloads.Fixed(keys)
	if err != nil {
		t.Fatal(err)
	}
	encrypt := func(v any) *common.Payloads {
		p, err := codec.Converter().ToPayloads(v)
		if err != nil {
			t.Fatal(err)
		}

		return p
	}

	return &recorded{events: []*history.HistoryEvent{
		{EventId: 1, Attributes: &history.HistoryEvent_ActivityTaskScheduledEventAttributes{
			ActivityTaskScheduledEventAttributes: &history.ActivityTaskScheduledEventAttributes{
				ActivityType: &common.ActivityType{Name: "Evaluate"},
				Input:        encrypt(map[string]int{"From": 3, "To": 10}),
			},
		}},
		{EventId: 2, Attributes: &history.HistoryEvent_ActivityTaskCompletedEventAttributes{
			ActivityTaskCompletedEventAttributes: &history.ActivityTaskCompletedEventAttributes{
				ScheduledEventId: 1, Result: encrypt(map[string]any{"Cost": map[string]int{"calls": 21}}),
			},
		}},
	}}
}

func TestHistoriesAreReadAsWorkersWroteThem(t *testing.T) {
	const (
		keys   = "a=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
		others = "b=AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="
	)
	for name, c := range map[string]struct {
		written, here string
		kind          fault.Kind // if "", it can be read
	}{
		"in clear":                  {"", "", ""},
		"in clear, before keys":     {"", keys, ""},
		"encrypted":                 {keys, keys, ""},
		"encrypted, no key here":    {keys, "", fault.Invalid},
		"encrypted, another one":    {keys, others, fault.Invalid},
		"encrypted with an old key": {others, keys + "\n" + others, ""},
	} {
		t.Run(name, func(t *testing.T) {
			codec, err := payloads.Fixed(c.here)
			if err != nil {
				t.Fatal(err)
			}
			m := &measuring{
				temporal: evaluation(t, c.written), converter: codec.Converter(), activities: map[string][]activity{},
			}
			if err := m.history(t.Context(), "x/finetune"); err != nil || len(m.activities["Evaluate"]) != 1 {
				t.Fatalf("history = %v, and was read as %v, want the evaluation", err, m.activities)
			}
			evaluate := m.activities["Evaluate"][0]
			input, err := read[struct{ From, To int }](m, evaluate.input)
			if c.kind != "" {
				if err == nil || fault.KindOf(err) != c.kind {
					t.Errorf("read = %v, %v, want a fault of kind %s", input, err, c.kind)
				}

				return
			}
			if err != nil || input.To-input.From != 7 {
				t.Errorf("it was asked for %+v, %v, want 7 episodes", input, err)
			}
			output, err := read[struct{ Cost runs.Cost }](m, evaluate.result)
			if err != nil || output.Cost.Calls != 21 {
				t.Errorf("it gave %+v, %v, want 21 calls", output, err)
			}
		})
	}
}

func TestWorkIsAllTimeAndTheTimeInWhichAnythingRan(t *testing.T) {
	all := []activity{ran(10, 12), ran(0, 4), ran(1, 3), ran(3, 6)}
	if hours, wall := busy(all), timed("x", all, 1).Hours; hours != 11 || wall != 8 {
		t.Errorf("activities took %v hours in all, in %v, want 11 in 8", hours, wall)
	}
	if hours, wall := busy(nil), timed("x", nil, 1).Hours; hours != 0 || wall != 0 {
		t.Errorf("nothing took %v hours in all, in %v, want 0 in 0", hours, wall)
	}
}

func TestEvaluationsAreThoseOfOneAgentAndOfAll(t *testing.T) {
	s := spec.Default()
	s.Agents, s.Epochs, s.FineTune.MaxChunks = 4, 5, 4
	s.Evaluation = spec.Evaluation{Val: 100, TestSeeds: 30, TestTemplates: 20, Every: 2, Base: true}
	for _, c := range []struct {
		name      string
		change    func(*spec.Spec)
		one, many float64
	}{
		// Two chunks, midway between 1 and 4, and two decodings; base-4, then after epochs 2, 4 and 5; the base and the
		// best system at the end.
		{"four agents", func(*spec.Spec) {}, 450, 500},
		{"one agent", func(s *spec.Spec) { s.Agents = 1 }, 800, 0},
		{"no base at the end", func(s *spec.Spec) { s.Evaluation.Base = false }, 400, 450},
		{"a given base", func(s *spec.Spec) { s.FineTune.Base = "x" }, 350, 500},
		{"stage 1 only", func(s *spec.Spec) { s.Epochs = 0 }, 450, 150},
		{"elsewhere, too", func(s *spec.Spec) {
			s.Evaluation.OutOfDistribution = []spec.Elsewhere{{Environment: "shop", Split: "val", Episodes: 10}}
		}, 460, 520},
	} {
		of := s
		c.change(&of)
		if one, many := evaluations(of); one != c.one || many != c.many {
			t.Errorf("%s: evaluations = %v, %v, want %v, %v", c.name, one, many, c.one, c.many)
		}
	}
}

func TestOneAgentIsPlannedAtThePaceOfOne(t *testing.T) {
	s := spec.Default()
	m := &measuring{spec: s, length: 5}
	for kind, hours := range map[string]int{oneAgent: 1, allAgents: 4} {
		m.evaluation(kind, evaluated{activities: []activity{ran(0, hours)}, episodes: 10, steps: 100}, 40, 20)
	}
	want := map[string]float64{ // 5 of 100 steps, 40 times
		rules.OfBase: 2, rules.OfTrained: 8,
	}
	for of, policies := range map[string]int{rules.OfBase: 1, rules.OfTrained: 4} {
		system, err := rules.SystemKind{Of: of}.System(s, make([]string, policies))
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range m.works.Estimate() {
			if l.Name == kindOf(system) && math.Abs(l.Hours-want[of]) > 1e-9 {
				t.Errorf("%s takes %v hours, want %v", l.Name, l.Hours, want[of])
			}
		}
	}
	if n := len(m.works); n != 2 {
		t.Errorf("got %d kinds of evaluations, want 2", n)
	}
}

func TestTheTimeToBeginIsNotScaled(t *testing.T) {
	s := spec.Default()
	s.Trainer.Options = []byte(`{"devices": 2}`)
	for _, c := range []struct{ seconds, want float64 }{
		{3600, 100*4 + 6.0/2*10},
		{0, 100 * 10},
		{3 * 3600, 100 * 10}, // 12 hours of steps in 10
	} {
		codec, err := payloads.Fixed("")
		if err != nil {
			t.Fatal(err)
		}
		m := &measuring{spec: s, converter: codec.Converter()}
		jobs := []activity{ran(0, 5), ran(5, 10)}
		for i := range jobs {
			result := map[string]any{"Steps": 2, "StepSeconds": c.seconds}
			if jobs[i].result, err = m.converter.ToPayloads(result); err != nil {
				t.Fatal(err)
			}
		}
		if err := m.training("updates", jobs, 100, 10); err != nil {
			t.Fatal(err)
		}
		lines := m.works.Estimate()
		all := lines[len(lines)-1]
		if math.Abs(all.Hours-c.want) > 1e-9 || math.Abs(all.Devices-2*c.want) > 1e-9 {
			t.Errorf("with steps of %v seconds, jobs take %v hours and %v of GPUs, want %v and twice as much",
				c.seconds, all.Hours, all.Devices, c.want)
		}
	}
}

// chained is a Temporal with a run that has continued as new, by the run ids of its executions; the newest has none.
type chained struct {
	client.Client
	executions map[string][]*history.HistoryEvent
}

func (c *chained) GetWorkflowHistory(
	_ context.Context, _, runID string, _ bool, _ enums.HistoryEventFilterType,
) client.HistoryEventIterator {
	return &recorded{events: c.executions[runID]}
}

func TestEveryExecutionOfARunIsRead(t *testing.T) {
	did := func(name, before string) []*history.HistoryEvent {
		return []*history.HistoryEvent{
			{EventId: 1, Attributes: &history.HistoryEvent_WorkflowExecutionStartedEventAttributes{
				WorkflowExecutionStartedEventAttributes: &history.WorkflowExecutionStartedEventAttributes{
					ContinuedExecutionRunId: before,
				},
			}},
			{EventId: 2, Attributes: &history.HistoryEvent_ActivityTaskScheduledEventAttributes{
				ActivityTaskScheduledEventAttributes: &history.ActivityTaskScheduledEventAttributes{
					ActivityType: &common.ActivityType{Name: name},
				},
			}},
			{EventId: 3, Attributes: &history.HistoryEvent_ActivityTaskCompletedEventAttributes{
				ActivityTaskCompletedEventAttributes: &history.ActivityTaskCompletedEventAttributes{
					ScheduledEventId: 2,
				},
			}},
		}
	}
	m := &measuring{activities: map[string][]activity{},
		temporal: &chained{executions: map[string][]*history.HistoryEvent{
			"": did("Commit", "b"), "b": did("Update", "a"), "a": did("Update", ""),
		}}}
	if err := m.history(t.Context(), "x"); err != nil || len(m.activities["Update"]) != 2 ||
		len(m.activities["Commit"]) != 1 {
		t.Errorf("history = %v, and was read as %v, want two updates and a commit", err, m.activities)
	}
}
