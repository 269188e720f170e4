package workflows_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"

	"github.com/collabui/collabui/activities/grade"
	"github.com/collabui/collabui/activities/rollout"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/workflows"
)

// TestAShardKeepsAWindowOfEpisodesOpen counts the episodes that are open at the same time: as many as the specification
// says, and as a person says meanwhile.
func TestAShardKeepsAWindowOfEpisodesOpen(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct{ planned, later, want int }{
		"default":           {0, -1, workflows.Window},
		"specified":         {5, -1, 5},
		"wider later":       {5, 50, 50},
		"the default again": {5, 0, workflows.Window},
	} {
		if most := openAtOnce(t, x.planned, x.later); most != x.want {
			t.Errorf("%s: %d episodes were open at the same time, want %d", name, most, x.want)
		}
	}
}

// TestAPausedShardSchedulesNothing pauses a shard whose pause no worker knows of, as when it could not be recorded. The
// pause does not count as time of the work, because people read its pace and what is left.
func TestAPausedShardSchedulesNothing(t *testing.T) {
	t.Parallel()
	env := shardAlone()
	env.OnActivity("Rollout", mock.Anything, mock.Anything).After(time.Minute).Return(rollout.Played{}, nil)
	begun, atPause := 0, 0
	env.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, _ converter.EncodedValues) {
		if info.ActivityType.Name == "Rollout" {
			begun++
		}
	})
	env.RegisterDelayedCallback(func() {
		env.SignalWorkflow("pause", true)
		atPause = begun
	}, 90*time.Second)
	env.RegisterDelayedCallback(func() {
		if begun != atPause {
			t.Errorf("%d episodes began in an hour's pause, want none", begun-atPause)
		}
		env.SignalWorkflow("pause", false)
	}, time.Hour)
	var progress workflows.Progress
	var worked time.Duration
	env.RegisterDelayedCallback(func() {
		v, err := env.QueryWorkflow(workflows.QueryProgress)
		if err == nil {
			err = v.Get(&progress)
		}
		if err != nil {
			t.Errorf("query: %v", err)
		}
		worked = env.Now().Sub(progress.Since)
	}, time.Hour+30*time.Second)
	env.ExecuteWorkflow(workflows.Shard, workflows.ShardInput{Run: "r", Epoch: 1, From: 1, To: 20, Window: 2})

	var got workflows.Tally
	if err := env.GetWorkflowResult(&got); err != nil || got.Done != 20 || atPause == 0 {
		t.Errorf("the shard ended with %+v, %v, and %d episodes before the pause; want 20, and some before",
			got, err, atPause)
	}
	if want := 2 * time.Minute; worked != want { // 90 s before the pause, and 30 s after it
		t.Errorf("the shard reports %v of work after an hour's pause, want %v", worked, want)
	}
}

// TestAShardReportsItsEpisodes queries a shard while its third episode is open.
func TestAShardReportsItsEpisodes(t *testing.T) {
	t.Parallel()
	env := shardAlone()
	played := rollout.Played{Success: true}
	env.OnActivity("Rollout", mock.Anything, mock.Anything).After(time.Minute).Return(played, nil)
	env.RegisterDelayedCallback(func() {
		var p workflows.Progress
		v, err := env.QueryWorkflow(workflows.QueryProgress)
		if err == nil {
			err = v.Get(&p)
		}
		if err != nil || p.Slots != 4 || p.Done != 2 || p.Successes != 2 {
			t.Errorf("the shard reports %+v, %v; want 2 of 4 episodes, both right", p, err)
		}
	}, 150*time.Second)
	env.ExecuteWorkflow(workflows.Shard, workflows.ShardInput{Run: "r", Epoch: 1, From: 1, To: 4, Window: 1})
	if err := env.GetWorkflowError(); err != nil {
		t.Error(err)
	}
}

// shardAlone returns where a shard can be played whose labels are mocked.
func shardAlone() *testsuite.TestWorkflowEnvironment {
	var ts testsuite.WorkflowTestSuite
	ts.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := ts.NewTestWorkflowEnvironment()
	env.RegisterWorkflow(workflows.Shard)
	env.RegisterActivity(&rollout.Rollouts{})
	env.RegisterActivity(&grade.Models{})
	env.OnActivity("CreditAndPairing", mock.Anything, mock.Anything).Return(grade.Paired{}, nil)

	return env
}

// openAtOnce plays a shard and returns how many of its episodes were open at the same time. A window of 0 or more is
// set after a while.
func openAtOnce(t *testing.T, planned, later int) (most int) {
	t.Helper()
	env, open := shardAlone(), 0
	env.OnActivity("Rollout", mock.Anything, mock.Anything).After(time.Minute).Return(rollout.Played{}, nil)
	env.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, _ converter.EncodedValues) {
		if info.ActivityType.Name == "Rollout" {
			open++
			most = max(most, open)
		}
	})
	env.SetOnActivityCompletedListener(func(info *activity.Info, _ converter.EncodedValue, _ error) {
		if info.ActivityType.Name == "Rollout" {
			open--
		}
	})
	if later >= 0 {
		env.RegisterDelayedCallback(func() { env.SignalWorkflow("window", later) }, 90*time.Second)
	}
	env.ExecuteWorkflow(workflows.Shard, workflows.ShardInput{
		Run: "r", Epoch: 1, From: 1, To: rules.ShardSize, Window: planned,
	})

	var got workflows.Tally
	if err := env.GetWorkflowResult(&got); err != nil || got.Done != rules.ShardSize {
		t.Fatalf("the shard ended with %+v, %v, want %d episodes", got, err, rules.ShardSize)
	}

	return most
}
