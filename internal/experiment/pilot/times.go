package pilot

import (
	"errors"
	"fmt"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/experiment/estimate"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store/runs"
)

// shard is the workflow that rolls out a part of an epoch.
const shard = "Shard"

// timed is a phase and where its time is measured.
type timed struct {
	estimate.Phase
	workflow string // id below the pilot's
	activity string // empty: the child workflows of type shard
}

// times reads how long the pilot's phases took.
func (m *measuring) times() error {
	for _, t := range m.phases() {
		var err error
		if t.Seconds, err = m.busy(m.pilot.Name+t.workflow, t.activity); err != nil {
			return err
		}
		if t.Seconds > 0 {
			m.out.Phases = append(m.out.Phases, t.Phase)
		}
	}

	return nil
}

// phases returns the phases of the run, without times.
func (m *measuring) phases() []timed {
	run, pilot := m.demonstrations()
	_, made := optimiserSteps(m.pilot)
	low, high := optimiserSteps(m.spec)
	list := []timed{
		{
			Phase:    estimate.Phase{Name: "stage 1, demonstrations", Units: pilot, Low: run, Total: run},
			workflow: "/finetune", activity: "Demonstrate",
		},
		{
			Phase:    estimate.Phase{Name: "stage 1, training", Units: made, Low: low, Total: high},
			workflow: "/finetune", activity: "TrainChunk",
		},
	}
	for level := 1; level <= runs.Levels; level++ {
		if m.asked[level] > 0 {
			list = append(list, m.levelPhases(level)...)
		}
	}
	if m.pilot.Epochs > 0 {
		list = append(list, m.epochPhases()...)
	}
	val := float64(baseSystems(m.pilot) * m.pilot.Evaluation.Val)

	return append(list, timed{
		Phase: estimate.Phase{
			Name: "evaluation", Units: val, Low: evaluations(m.spec, 0),
			Total: evaluations(m.spec, chunks(m.spec)), Steps: true,
		},
		workflow: "/eval/0000-val", activity: "Evaluate",
	})
}

func (m *measuring) levelPhases(level int) []timed {
	run, pilot := m.demonstrations()
	workflow, screens := fmt.Sprintf("/finetune/level-%d", level), m.screens(level)

	return []timed{
		{
			Phase: estimate.Phase{
				Name: fmt.Sprintf("stage 1, exploration (level %d)", level), Units: pilot, Low: run, Total: run,
			},
			workflow: workflow, activity: "Explore",
		},
		{
			Phase: estimate.Phase{
				Name:  fmt.Sprintf("stage 1, data of level %d", level),
				Units: m.asked[level], Low: screens, Total: screens,
			},
			workflow: workflow, activity: "Synthesize",
		},
	}
}

func (m *measuring) epochPhases() []timed {
	slots := m.slots()
	pairs := m.pairs / float64(m.pilot.Slots) * slots

	return []timed{
		{
			Phase: estimate.Phase{
				Name: "rollouts, credit, pairing", Units: float64(m.pilot.Slots), Low: slots, Total: slots, Steps: true,
			},
			workflow: "/epoch/0001",
		},
		{
			Phase:    estimate.Phase{Name: "updates", Units: max(m.pairs, 1), Low: pairs, Total: pairs, Steps: true},
			workflow: "/epoch/0001", activity: "Update",
		},
	}
}

// optimiserSteps returns the least and the most optimiser steps of stage 1.
func optimiserSteps(s spec.Spec) (low, high float64) {
	if len(s.FineTune.Levels) == 0 && s.FineTune.Base == "" {
		return float64(s.FineTune.ChunkSteps), float64(s.FineTune.ChunkSteps * s.FineTune.MaxChunks)
	}
	for _, job := range s.FineTune.LevelJobs() {
		low += float64(job.Steps)
	}

	return low, low
}

// busy returns the seconds from the first schedule of an activity in a workflow to the last end of one. The empty name
// means child workflows of type shard. A workflow that does not exist took no time.
func (m *measuring) busy(workflow, activity string) (float64, error) {
	span := span{activity: activity, scheduled: map[int64]bool{}}
	h := m.temporal.GetWorkflowHistory(m.ctx, workflow, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for h.HasNext() {
		event, err := h.Next()
		var missing *serviceerror.NotFound
		if errors.As(err, &missing) {
			return 0, nil
		}
		if err != nil {
			return 0, fault.New(fault.Transient, "history of %s: %w", workflow, err)
		}
		if span.bounds(event) {
			span.extend(event.EventTime.AsTime())
		}
	}

	return span.to.Sub(span.from).Seconds(), nil
}

// span is the time between the first and the last event of an activity.
type span struct {
	activity  string
	scheduled map[int64]bool // events that scheduled it
	from, to  time.Time
}

// bounds reports whether the activity, or a shard, begins or ends with an event.
func (s *span) bounds(e *history.HistoryEvent) bool {
	if s.activity == "" {
		begin := e.GetStartChildWorkflowExecutionInitiatedEventAttributes()
		end := e.GetChildWorkflowExecutionCompletedEventAttributes()

		return begin != nil && begin.WorkflowType.Name == shard || end != nil && end.WorkflowType.Name == shard
	}
	if x := e.GetActivityTaskScheduledEventAttributes(); x != nil && x.ActivityType.Name == s.activity {
		s.scheduled[e.EventId] = true
		return true
	}
	x := e.GetActivityTaskCompletedEventAttributes()

	return x != nil && s.scheduled[x.ScheduledEventId]
}

func (s *span) extend(at time.Time) {
	if s.from.IsZero() {
		s.from = at
	}
	s.to = at
}
