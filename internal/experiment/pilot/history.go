package pilot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	common "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/rules"
)

// activity is an activity that ended without an error. It begins when a worker starts it.
type activity struct {
	name          string
	from, to      time.Time
	input, result *common.Payloads
}

// histories reads the activities of the pilot's workflows.
func (m *measuring) histories(ctx context.Context) error {
	run := m.pilot.Name
	workflows := []string{
		run, run + "/finetune", run + "/finetune/level-1", run + "/finetune/level-2", run + "/finetune/level-3",
	}
	for epoch := range m.pilot.Epochs + 1 {
		for _, name := range []string{"epoch/%04d", "eval/%04d-val", "eval/%04d-test", "eval/%04d-references"} {
			workflows = append(workflows, run+"/"+fmt.Sprintf(name, epoch))
		}
		for from := 1; from <= m.pilot.Slots; from += rules.ShardSize {
			workflows = append(workflows, fmt.Sprintf("%s/epoch/%04d/shard/%04d", run, epoch, from))
		}
	}
	for _, workflow := range workflows {
		if err := m.history(ctx, workflow); err != nil {
			return err
		}
	}

	return nil
}

// history reads the activities of a workflow that have ended well, through every continue-as-new. A workflow that does
// not exist did nothing.
func (m *measuring) history(ctx context.Context, id string) error {
	before, err := m.execution(ctx, id, "")
	for err == nil && before != "" {
		before, err = m.execution(ctx, id, before)
	}

	return err
}

// execution reads the activities of one execution of a workflow, the newest if it has no run id, and returns the run id
// of the execution that continued as this one.
func (m *measuring) execution(ctx context.Context, id, runID string) (before string, err error) {
	open := map[int64]activity{}
	events := m.temporal.GetWorkflowHistory(ctx, id, runID, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		historyEvent, err := events.Next()
		var missing *serviceerror.NotFound
		if errors.As(err, &missing) {
			return before, nil
		}
		if err != nil {
			return before, fault.New(fault.Transient, "history of %s: %w", id, err)
		}
		if x := historyEvent.GetWorkflowExecutionStartedEventAttributes(); x != nil {
			before = x.ContinuedExecutionRunId
		}
		if attributes := historyEvent.GetActivityTaskScheduledEventAttributes(); attributes != nil {
			open[historyEvent.EventId] = activity{name: attributes.ActivityType.Name, input: attributes.Input}
		}
		if x := historyEvent.GetActivityTaskStartedEventAttributes(); x != nil {
			a := open[x.ScheduledEventId]
			a.from = historyEvent.EventTime.AsTime()
			open[x.ScheduledEventId] = a
		}
		if x := historyEvent.GetActivityTaskCompletedEventAttributes(); x != nil {
			a := open[x.ScheduledEventId]
			a.to = historyEvent.EventTime.AsTime()
			a.result = x.Result
			m.activities[a.name] = append(m.activities[a.name], a)
		}
	}

	return before, nil
}

// read returns the first argument or the result of an activity. It is an invalid fault if the key is missing with which
// it was encrypted.
func read[T any](m *measuring, payloads *common.Payloads) (value T, err error) {
	err = m.converter.FromPayloads(payloads, &value)
	if err != nil {
		err = fmt.Errorf("history of run %s: %w", m.pilot.Name, err)
	}

	return value, err
}

// busy returns the sum of the activities' durations, in hours.
func busy(all []activity) (hours float64) {
	for _, a := range all {
		hours += a.to.Sub(a.from).Hours()
	}

	return hours
}

// timed returns work that takes the hours during which at least one of the activities ran.
func timed(name string, all []activity, times float64) Work {
	work := Work{Line: Line{Name: name}, Times: times}
	all = slices.SortedFunc(slices.Values(all), func(a, b activity) int { return a.from.Compare(b.from) })
	var end time.Time
	for _, a := range all {
		if a.from.After(end) {
			end = a.from
		}
		if a.to.After(end) {
			work.Hours += a.to.Sub(end).Hours()
			end = a.to
		}
	}

	return work
}
