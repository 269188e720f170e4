package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	schedulepb "go.temporal.io/api/schedule/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"
	schedulespb "go.temporal.io/server/api/schedule/v1"
	"go.temporal.io/server/service/worker/scheduler"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// month is a simulated month of a schedule that fires every hour, with the scheduler of the real server under skipped
// time. The server is down now and then, for seconds (a kill) or for hours (an outage); people pause the schedule and
// backfill; starts fail after they have taken effect; firings take longer than an hour.
type month struct {
	mu sync.Mutex // activities run concurrently

	t *testing.T
	r *rand.Rand

	now     time.Time
	end     time.Time              // until when the scheduler was up
	running map[string]time.Time   // the end of every started firing, by its id
	starts  map[string][]time.Time // the times at which a firing was started
	asked   map[string]bool        // requests to start a firing
	ran     []span                 // the times of all firings
	paused  []span                 // when nothing fired
	down    []span                 // when the server was down
	back    map[string]int         // how often a person backfilled a firing
	plan    []step                 // the actions of people, in order

	kills, outages, lost, pauses, backfills int
}

type span struct{ from, to time.Time }

func (s span) has(at time.Time) bool { return at.After(s.from) && !at.After(s.to) }

// step is an action of a person at a time, or as soon as the server is up after that time.
type step struct {
	at    time.Time
	patch *schedulepb.SchedulePatch
}

const (
	monthDays = 30
	catchUp   = 90 * time.Minute
	// perSegment is how often the scheduler wakes up before this test ends the segment, as a kill does.
	perSegment = 12
)

var monthBegan = time.Date(2026, 11, 1, 0, 30, 0, 0, time.UTC)

// firingID returns the id of the firing of an hour.
func firingID(at time.Time) string { return "retrain/nightly-" + at.UTC().Format(time.RFC3339) }

// start responds as the server does when the scheduler starts a firing: repeating a request changes nothing.
func (m *month) start(env *testsuite.TestWorkflowEnvironment, req *schedulespb.StartWorkflowRequest) (
	*schedulespb.StartWorkflowResponse, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	id := req.Request.WorkflowId
	if !m.asked[req.Request.RequestId] {
		m.asked[req.Request.RequestId] = true
		m.starts[id] = append(m.starts[id], env.Now())
		m.running[id] = env.Now().Add(time.Duration(1+m.r.IntN(150)) * time.Minute)
		m.ran = append(m.ran, span{env.Now(), m.running[id]})
		if m.r.IntN(8) == 0 {
			m.lost++

			return nil, errors.New("the connection is lost")
		}
	}

	return &schedulespb.StartWorkflowResponse{
		RunId: req.Request.RequestId, RealStartTime: timestamppb.New(env.Now()),
	}, nil
}

// watch reports whether a firing has ended.
func (m *month) watch(env *testsuite.TestWorkflowEnvironment, id string) *schedulespb.WatchWorkflowResponse {
	m.mu.Lock()
	defer m.mu.Unlock()
	status := enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED
	if env.Now().Before(m.running[id]) {
		status = enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
	}

	return &schedulespb.WatchWorkflowResponse{Status: status}
}

// environment returns a server that has just started.
func (m *month) environment() *testsuite.TestWorkflowEnvironment {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(sdklog.NewStructuredLogger(slog.New(slog.NewTextHandler(io.Discard, nil))))
	env := suite.NewTestWorkflowEnvironment()
	env.SetStartTime(m.now)
	env.SetTestTimeout(time.Minute)
	start := func(_ context.Context, req *schedulespb.StartWorkflowRequest) (
		*schedulespb.StartWorkflowResponse, error) {
		return m.start(env, req)
	}
	watch := func(_ context.Context, req *schedulespb.WatchWorkflowRequest) (
		*schedulespb.WatchWorkflowResponse, error) {
		return m.watch(env, req.Execution.WorkflowId), nil
	}
	env.RegisterActivityWithOptions(start, activity.RegisterOptions{Name: "StartWorkflow"})
	env.RegisterActivityWithOptions(watch, activity.RegisterOptions{Name: "WatchWorkflow"})
	env.OnActivity("StartWorkflow", mock.Anything, mock.Anything).Maybe().Return(start)
	short := mock.MatchedBy(func(req *schedulespb.WatchWorkflowRequest) bool { return !req.LongPoll })
	env.OnActivity("WatchWorkflow", mock.Anything, short).Maybe().Return(watch)
	long := mock.MatchedBy(func(req *schedulespb.WatchWorkflowRequest) bool { return req.LongPoll })
	env.OnActivity("WatchWorkflow", mock.Anything, long).Maybe().AfterFn(func() time.Duration {
		m.mu.Lock()
		defer m.mu.Unlock()
		end := env.Now() // of the one firing that runs
		for _, e := range m.running {
			if e.After(end) {
				end = e
			}
		}

		return end.Sub(env.Now())
	}).Return(&schedulespb.WatchWorkflowResponse{Status: enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED}, nil)

	return env
}

// people plans pauses and backfills.
func (m *month) people() {
	at := monthBegan
	for at = at.Add(m.hours(30)); at.Before(monthBegan.AddDate(0, 0, monthDays-2)); at = at.Add(m.hours(30)) {
		if m.r.IntN(2) == 0 {
			m.plan = append(m.plan, step{at, &schedulepb.SchedulePatch{Pause: "ann: look first"}})
			at = at.Add(m.hours(8))
			m.plan = append(m.plan, step{at, &schedulepb.SchedulePatch{Unpause: "ann: go on"}})

			continue
		}
		from := at.Add(-m.hours(20)).Truncate(time.Hour)
		m.plan = append(m.plan, step{at, &schedulepb.SchedulePatch{BackfillRequest: []*schedulepb.BackfillRequest{{
			StartTime: timestamppb.New(from), EndTime: timestamppb.New(from.Add(2 * time.Hour)),
			OverlapPolicy: enumspb.SCHEDULE_OVERLAP_POLICY_BUFFER_ALL,
		}}}})
	}
}

// hours returns a random time of at most n hours.
func (m *month) hours(n int) time.Duration { return time.Duration(1+m.r.IntN(n*60)) * time.Minute }

// act performs the planned actions of people.
func (m *month) act(env *testsuite.TestWorkflowEnvironment) {
	for _, x := range m.plan {
		env.RegisterDelayedCallback(func() {
			if len(m.plan) == 0 || m.plan[0].patch != x.patch { // already done, or not its turn
				return
			}
			m.plan = m.plan[1:]
			m.mu.Lock()
			defer m.mu.Unlock()
			switch {
			case x.patch.Pause != "":
				m.pauses++
				m.paused = append(m.paused, span{env.Now(), monthBegan.AddDate(1, 0, 0)})
			case x.patch.Unpause != "":
				m.paused[len(m.paused)-1].to = env.Now()
			default:
				m.backfills++
				b := x.patch.BackfillRequest[0]
				for at := b.StartTime.AsTime(); !at.After(b.EndTime.AsTime()); at = at.Add(time.Hour) {
					m.back[firingID(at)]++
				}
			}
			env.SignalWorkflow(scheduler.SignalNamePatch, x.patch)
		}, max(0, x.at.Sub(m.now)))
	}
}

// play runs the month and returns the counts of the scheduler.
func (m *month) play() *schedulepb.ScheduleInfo {
	args := &schedulespb.StartScheduleArgs{
		Schedule: &schedulepb.Schedule{
			Spec: &schedulepb.ScheduleSpec{
				Interval: []*schedulepb.IntervalSpec{{Interval: durationpb.New(time.Hour)}},
			},
			Policies: &schedulepb.SchedulePolicies{
				OverlapPolicy: enumspb.SCHEDULE_OVERLAP_POLICY_SKIP, CatchupWindow: durationpb.New(catchUp),
			},
			Action: &schedulepb.ScheduleAction{Action: &schedulepb.ScheduleAction_StartWorkflow{
				StartWorkflow: &workflowpb.NewWorkflowExecutionInfo{
					WorkflowId: "retrain/nightly", WorkflowType: &commonpb.WorkflowType{Name: "Retrain"},
				},
			}},
		},
		State: &schedulespb.InternalState{
			Namespace: "ns", NamespaceId: "ns", ScheduleId: "nightly", ConflictToken: scheduler.InitialConflictToken,
		},
	}
	for m.now.Before(monthBegan.AddDate(0, 0, monthDays)) {
		env := m.environment()
		m.act(env)
		env.ExecuteWorkflow(scheduler.SchedulerWorkflow, args)
		var next *workflow.ContinueAsNewError
		if err := env.GetWorkflowError(); !errors.As(err, &next) {
			m.t.Fatalf("the scheduler ended at %v with %v, want it to continue", env.Now(), err)
		}
		args = &schedulespb.StartScheduleArgs{}
		if err := converter.GetDefaultDataConverter().FromPayloads(next.Input, args); err != nil {
			m.t.Fatal(err)
		}
		m.end = env.Now()
		m.now = m.goDown(m.end)
	}

	return args.Info
}

// goDown kills the server and returns when it is up again.
func (m *month) goDown(at time.Time) time.Time {
	up := at.Add(time.Duration(1+m.r.IntN(30)) * time.Second)
	if m.r.IntN(4) == 0 {
		m.outages++
		up = at.Add(m.hours(5))
	} else {
		m.kills++
	}
	m.down = append(m.down, span{at, up})

	return up
}

// counts are the numbers of hours of a month by their outcome.
type counts struct{ hours, fired, skipped, missed, paused int }

// check classifies every hour by the documented policy, and compares.
func (m *month) check(info *schedulepb.ScheduleInfo) (c counts) {
	m.t.Helper()
	for at := monthBegan.Truncate(time.Hour).Add(time.Hour); at.Before(m.end); at = at.Add(time.Hour) {
		c.hours++
		seen := at // when the scheduler notices that a firing is due
		for _, d := range m.down {
			if d.has(at) || at.Equal(d.from) {
				seen = d.to
			}
		}
		id := firingID(at)
		due := m.due(id, at, seen)
		paused := m.in(m.paused, at)
		switch {
		case paused || seen.Sub(at) > catchUp:
			if due {
				m.t.Errorf("%s was started %v late, paused: %v; want it left out", id, seen.Sub(at), paused)
			}
			if paused && seen.Sub(at) <= catchUp {
				c.paused++
			} else {
				c.missed++
			}
		case due:
			c.fired++
		case m.in(m.ran, seen) || m.in(m.ran, seen.Add(time.Minute)):
			c.skipped++
		default:
			m.t.Errorf("%s was never started, and nothing ran at %v; want it started", id, seen)
		}
		if len(m.starts[id]) > 1+m.back[id] {
			m.t.Errorf("%s was started at %v, and backfilled %d times; want it once", id, m.starts[id], m.back[id])
		}
	}
	// An hour at which a person pauses a server that has just restarted may count as either.
	const either = 2
	missed, skipped := int(info.MissedCatchupWindow)-c.missed, int(info.OverlapSkipped)-c.skipped
	if max(missed, -missed, skipped, -skipped) > either {
		m.t.Errorf("the scheduler counts %d missed and %d skipped, want %d and %d",
			info.MissedCatchupWindow, info.OverlapSkipped, c.missed, c.skipped)
	}

	return c
}

// due reports whether a firing was started when the scheduler noticed that it was due, or at least within the catch-up
// window, and not by a backfill.
func (m *month) due(id string, at, seen time.Time) bool {
	for _, started := range m.starts[id] {
		if late := started.Sub(seen); late >= 0 && late < 2*time.Minute {
			return true
		}
		if m.back[id] == 0 && started.Sub(at) <= catchUp {
			return true
		}
	}

	return false
}

func (m *month) in(spans []span, at time.Time) bool {
	for _, s := range spans {
		if s.has(at) {
			return true
		}
	}

	return false
}

func TestNoFiringIsLostBeyondThePolicyAndNoneTakesPlaceTwice(t *testing.T) {
	before := scheduler.CurrentTweakablePolicies
	scheduler.CurrentTweakablePolicies.IterationsBeforeContinueAsNew = perSegment
	t.Cleanup(func() { scheduler.CurrentTweakablePolicies = before })
	for seed := range uint64(4) {
		m := &month{
			t: t, r: rand.New(rand.NewPCG(seed, 1)), now: monthBegan,
			running: map[string]time.Time{}, starts: map[string][]time.Time{}, asked: map[string]bool{},
			back: map[string]int{},
		}
		m.people()
		c := m.check(m.play())
		t.Logf("seed %d: %+v; %d kills, %d outages, %d answers lost, %d pauses, %d backfills",
			seed, c, m.kills, m.outages, m.lost, m.pauses, m.backfills)
		if m.kills == 0 || m.outages == 0 || m.lost == 0 || m.pauses == 0 || m.backfills == 0 ||
			c.missed == 0 || c.skipped == 0 || c.paused == 0 {
			t.Errorf("%+v: want every kind of trouble to strike", c)
		}
	}
}
