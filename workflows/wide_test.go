package workflows_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"

	"github.com/collabui/collabui/activities"
	epochs "github.com/collabui/collabui/activities/epoch"
	"github.com/collabui/collabui/activities/grade"
	"github.com/collabui/collabui/activities/lifecycle"
	"github.com/collabui/collabui/activities/rollout"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/workflows"
)

// TestAWideWindowOpensAsManyShardsAsItNeeds: a window of 250 needs five shards, and no sixth.
func TestAWideWindowOpensAsManyShardsAsItNeeds(t *testing.T) {
	t.Parallel()
	for window, want := range map[int]int{50: 200, 250: 1000} {
		t.Run(fmt.Sprint(window), func(t *testing.T) {
			if got := openInEpoch(t, window, 6*rules.ShardSize, want); got != want {
				t.Errorf("%d episodes were open at once, want %d", got, want)
			}
		})
	}
}

// openInEpoch plays an epoch and returns how many of its episodes were open at the same time. Until as many are as are
// wanted, none ends.
func openInEpoch(t *testing.T, window, slots, want int) int {
	t.Helper()
	env := quiet(t)
	var mu sync.Mutex
	open, most := 0, 0
	wide := make(chan struct{})
	places := make(chan struct{}, 100) // of activities that have ended: the test environment may block on more
	env.SetOnActivityCompletedListener(func(i *activity.Info, _ converter.EncodedValue, _ error) {
		if i.ActivityType.Name == "Rollout" {
			<-places
		}
	})
	enough := sync.OnceFunc(func() {
		time.AfterFunc(time.Second, func() { close(wide) }) // more would begin meanwhile
	})
	late := time.AfterFunc(time.Minute, enough)
	defer late.Stop()
	env.OnActivity("PlanEpoch", mock.Anything, mock.Anything).Return(epochs.Plan{Slots: slots}, nil)
	env.OnActivity("Rollout", mock.Anything, mock.Anything).Return(
		func(context.Context, activities.SlotID) (rollout.Played, error) {
			mu.Lock()
			open++
			if most = max(most, open); open == want {
				enough()
			}
			mu.Unlock()
			<-wide
			places <- struct{}{}
			mu.Lock()
			open--
			mu.Unlock()

			return rollout.Played{Success: true}, nil
		})
	env.OnActivity("CreditAndPairing", mock.Anything, mock.Anything).Return(grade.Paired{}, nil)
	env.ExecuteWorkflow(workflows.Rollouts, workflows.RolloutsInput{Run: "r", Epoch: 1, Plan: lifecycle.Plan{
		Agents: 1, Slots: slots, Epochs: 3, EvalEvery: 2, Window: window,
	}})
	if err := env.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}

	return most
}
