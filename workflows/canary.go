package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/rules"
)

// CanaryInput says what a build of the workers must show before runs move to it.
type CanaryInput struct {
	Build string // whose workers must show it; "": any
	Run   string // whose task is played; "": none
	Epoch int    // whose system plays it
}

// Canaried is what it has shown.
type Canaried struct {
	Histories int                   // that were replayed
	Played    activities.CanaryPlay // zero without a run
}

// CanaryID is the id of the workflow that checks a build.
func CanaryID(build string) string { return "canary/" + build }

// Canary checks the build of the workers that it is pinned to: recorded histories replay, and one episode of a run can
// be played. It fails if anything does not. It records no episode.
func Canary(ctx workflow.Context, in CanaryInput) (Canaried, error) {
	var out Canaried
	replay := long(on(ctx, QueueControl, "replay recorded histories"))
	if err := workflow.ExecuteActivity(replay, control.Replay, in.Build).Get(ctx, &out.Histories); err != nil {
		return out, err
	}
	if in.Run == "" {
		return out, nil
	}
	systems, err := systems(ctx, activities.SystemsID{Run: in.Run, Epoch: in.Epoch})
	if err != nil {
		return out, err
	}
	item := rules.Split{Name: domain.SplitVal, Episodes: 1}.Item(in.Run, rules.EpochFolder(in.Epoch), systems[0])
	play := on(ctx, QueueRollout, fmt.Sprintf("play one task of %s", in.Run))

	err = workflow.ExecuteActivity(play, rollout.PlayCanary, item, in.Build).Get(ctx, &out.Played)

	return out, err
}

// again continues a workflow as new, with the build of the workers that is current then: a run moves to another build
// between two epochs, and never within one.
func again(ctx workflow.Context, f, in any) error {
	return workflow.NewContinueAsNewErrorWithOptions(ctx, workflow.ContinueAsNewErrorOptions{
		InitialVersioningBehavior: workflow.ContinueAsNewVersioningBehaviorAutoUpgrade,
	}, f, in)
}
