package pilot

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	common "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"

	"github.com/collabui/collabui/fault"
)

// did is an activity that has ended well, from when a worker took it.
type did struct {
	name     string
	from, to time.Time
	input    []byte // JSON
	result   []byte // JSON
}

func (d did) seconds() float64 { return d.to.Sub(d.from).Seconds() }

// done returns the activities of a workflow of the run that have ended well, by name. A workflow that does not exist
// did nothing.
func (m *measuring) done(workflow string) (map[string][]did, error) {
	open, out := map[int64]did{}, map[string][]did{}
	err := m.history(workflow, func(e *history.HistoryEvent) (err error) {
		at := e.EventTime.AsTime()
		switch {
		case e.GetActivityTaskScheduledEventAttributes() != nil:
			x := e.GetActivityTaskScheduledEventAttributes()
			d := did{name: x.ActivityType.Name}
			d.input, err = m.data(x.Input)
			open[e.EventId] = d
		case e.GetActivityTaskStartedEventAttributes() != nil:
			id := e.GetActivityTaskStartedEventAttributes().ScheduledEventId
			d := open[id]
			d.from = at
			open[id] = d
		case e.GetActivityTaskCompletedEventAttributes() != nil:
			x := e.GetActivityTaskCompletedEventAttributes()
			d := open[x.ScheduledEventId]
			d.to = at
			d.result, err = m.data(x.Result)
			out[d.name] = append(out[d.name], d)
		}

		return err
	})

	return out, err
}

// lasted returns the time from the first to the last event of a workflow of the run.
func (m *measuring) lasted(workflow string) (time.Duration, error) {
	var from, to time.Time
	err := m.history(workflow, func(e *history.HistoryEvent) error {
		if to = e.EventTime.AsTime(); from.IsZero() {
			from = to
		}

		return nil
	})

	return to.Sub(from), err
}

// history calls f with the events of a workflow of the run, until f returns an error.
func (m *measuring) history(workflow string, f func(*history.HistoryEvent) error) error {
	id := m.pilot.Name + workflow
	h := m.temporal.GetWorkflowHistory(m.ctx, id, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for h.HasNext() {
		event, err := h.Next()
		var missing *serviceerror.NotFound
		if errors.As(err, &missing) {
			return nil
		}
		if err != nil {
			return fault.New(fault.Transient, "history of %s: %w", id, err)
		}
		if err := f(event); err != nil {
			return fmt.Errorf("history of %s: %w", id, err)
		}
	}

	return nil
}

// data returns the JSON of the first of an activity's arguments or results. It is an invalid fault if a key is missing
// with which it was encrypted.
func (m *measuring) data(p *common.Payloads) ([]byte, error) {
	if len(p.GetPayloads()) == 0 {
		return nil, nil
	}
	plain, err := m.codec.Decode(p.Payloads[:1])
	if err != nil {
		return nil, err
	}

	return plain[0].Data, nil
}

// read returns what a record says, as JSON. An activity without arguments or results says nothing.
func read[T any](raw []byte) (value T, err error) {
	if len(raw) == 0 {
		return value, nil
	}

	return value, fault.As(fault.Corrupt, json.Unmarshal(raw, &value))
}

// work returns the seconds that activities took in all, and those during which any of them ran.
func work(all []did) (seconds, wall float64) {
	all = slices.SortedFunc(slices.Values(all), func(a, b did) int { return a.from.Compare(b.from) })
	var end time.Time
	for _, d := range all {
		seconds += d.seconds()
		if from := latest(d.from, end); d.to.After(from) {
			wall += d.to.Sub(from).Seconds()
			end = d.to
		}
	}

	return seconds, wall
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}

	return b
}

// lanes returns the largest number of activities that ran at once, at least 1.
func lanes(all []did) float64 {
	most := 1
	for _, a := range all {
		n := 0
		for _, b := range all {
			if !b.from.After(a.from) && b.to.After(a.from) {
				n++
			}
		}
		most = max(most, n)
	}

	return float64(most)
}
