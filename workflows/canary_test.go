package workflows_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/workflows"
)

// TestACheckOfABuildIsNotMadeByAnotherBuild: until Temporal knows all workers of a build, it gives their activities to
// workers of another one. The check waits for the right build and, if it does not come, fails with the reason.
func TestACheckOfABuildIsNotMadeByAnotherBuild(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		others int // tries that Temporal gives to another build
		want   string
	}{
		"at once":     {others: 0},
		"soon":        {others: 3},
		"not in time": {others: 100, want: `queue care is served by build "old" and not by "new"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var ts testsuite.WorkflowTestSuite
			ts.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
			env := ts.NewTestWorkflowEnvironment()
			env.RegisterWorkflow(workflows.Canary)
			tries, replays := 0, 0
			replayed := func(context.Context, func(string)) (int, error) {
				replays++

				return 7, nil
			}
			by := map[bool]*activities.Control{}
			for right, build := range map[bool]string{true: "new", false: "old"} {
				by[right] = &activities.Control{Common: activities.Common{Build: build}, Histories: replayed}
			}
			env.RegisterActivity(&activities.Control{})
			env.OnActivity("Replay", mock.Anything, "new").Return(func(ctx context.Context, build string) (int, error) {
				tries++

				return by[tries > test.others].Replay(ctx, build)
			})
			env.ExecuteWorkflow(workflows.Canary, workflows.CanaryInput{Build: "new"})
			var got workflows.Canaried
			err := env.GetWorkflowError()
			if err == nil {
				err = env.GetWorkflowResult(&got)
			}
			if test.want == "" && (err != nil || got.Histories != 7 || replays != 1) {
				t.Errorf("the check ends with %+v, %v after %d replays, want 7 histories after one", got, err, replays)
			}
			if test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want) || replays != 0) {
				t.Errorf("the check ends with %v after %d replays, want an error with %q and none",
					err, replays, test.want)
			}
		})
	}
}
