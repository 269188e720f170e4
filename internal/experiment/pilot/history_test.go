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
	"github.com/collabui/collabui/internal/process/payloads"
	"github.com/collabui/collabui/internal/store/runs"
)

// ran returns an activity that ran between two seconds.
func ran(from, to int) did { return did{from: time.Unix(int64(from), 0), to: time.Unix(int64(to), 0)} }

// recorded is a Temporal with one history.
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
		kind          fault.Kind // "": it can be read
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
			m := &measuring{ctx: t.Context(), temporal: evaluation(t, c.written), codec: codec}
			did, err := m.done("/finetune")
			if c.kind != "" {
				if err == nil || fault.KindOf(err) != c.kind {
					t.Errorf("done = %v, %v, want a fault of kind %s", did, err, c.kind)
				}

				return
			}
			if err != nil || len(did["Evaluate"]) != 1 {
				t.Fatalf("done = %v, %v, want the evaluation", did, err)
			}
			asked, err := read[struct{ From, To int }](did["Evaluate"][0].input)
			if err != nil || asked.To-asked.From != 7 {
				t.Errorf("it was asked for %+v, %v, want 7 episodes", asked, err)
			}
			gave, err := read[struct{ Cost runs.Cost }](did["Evaluate"][0].result)
			if err != nil || gave.Cost.Calls != 21 {
				t.Errorf("it gave %+v, %v, want 21 calls", gave, err)
			}
		})
	}
}

func TestWorkIsAllTimeAndTheTimeInWhichAnythingRan(t *testing.T) {
	all := []did{ran(10, 12), ran(0, 4), ran(1, 3), ran(3, 6)}
	if seconds, wall := work(all); seconds != 11 || wall != 8 {
		t.Errorf("work = %v, %v, want 11, 8", seconds, wall)
	}
	if got := lanes(all); got != 2 {
		t.Errorf("lanes = %v, want 2: one ended when the next began", got)
	}
	if got := lanes(nil); got != 1 {
		t.Errorf("lanes of nothing = %v, want 1", got)
	}
}

func TestEvaluationsAreThoseOfOneAgentAndOfAll(t *testing.T) {
	s := spec.Default()
	s.Agents, s.Epochs = 4, 5
	s.Evaluation = spec.Evaluation{Val: 100, TestSeeds: 30, TestTemplates: 20, Every: 2, Base: true}
	for _, c := range []struct {
		name      string
		change    func(*spec.Spec)
		one, many float64
	}{
		// Two chunks and two decodings; base-4, then after epochs 2, 4 and 5; the base and the best system at the end.
		{"four agents", func(*spec.Spec) {}, 450, 500},
		{"one agent", func(s *spec.Spec) { s.Agents = 1 }, 800, 0},
		{"no base at the end", func(s *spec.Spec) { s.Evaluation.Base = false }, 400, 450},
		{"a given base", func(s *spec.Spec) { s.FineTune.Base = "x" }, 550, 500},
		{"stage 1 only", func(s *spec.Spec) { s.Epochs = 0 }, 450, 150},
	} {
		of := s
		c.change(&of)
		if one, many := evaluations(of, 2); one != c.one || many != c.many {
			t.Errorf("%s: evaluations = %v, %v, want %v, %v", c.name, one, many, c.one, c.many)
		}
	}
}

// TestOneAgentIsPlannedAtThePaceOfOne measures a pilot of four agents for an arm that has one.
func TestOneAgentIsPlannedAtThePaceOfOne(t *testing.T) {
	s := spec.Default()
	p := Spec(s, 4)
	s.Agents, s.Rounds = 1, 1
	m := &measuring{spec: s, pilot: p}
	m.kinds()
	for k, seconds := range []int{10, 400} {
		e := m.evaluated[k]
		e.did, e.episodes = []did{ran(0, seconds)}, 10
		m.evaluationPhase(e)
	}
	one, err := rules.Kind{Of: rules.OfTrained}.System(s, []string{"p"})
	if err != nil {
		t.Fatal(err)
	}
	if h := m.out.Playing(Phase(s, one), 360).Mid; math.Abs(h-0.1) > 1e-9 {
		t.Errorf("360 episodes of one agent take %v hours, want 0.1, as those of one agent in the pilot", h)
	}
	s.Agents = 4
	four, err := rules.Kind{Of: rules.OfTrained}.System(s, make([]string, 4))
	if err != nil {
		t.Fatal(err)
	}
	m = &measuring{spec: s, pilot: p}
	m.kinds()
	if got, want := m.evaluated[1].name, Phase(s, four); got != want {
		t.Errorf("several agents are measured as %q, want %q, by which they are found", got, want)
	}
}
