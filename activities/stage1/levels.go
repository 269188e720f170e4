package stage1

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/method/synth"
	"github.com/collabui/collabui/internal/policy/endpoints"
	"github.com/collabui/collabui/internal/records/runs"
)

// Control plans the data of stage 1 and records its result.
type Control struct {
	activities.Common
}

// LevelID names the data set of a level; Chunk is the level job that it is made for.
type LevelID struct {
	Run   string
	Level int
	Chunk int
}

// PlanLevel draws the screens of a level from all trajectories, and returns their number.
func (c *Control) PlanLevel(ctx context.Context, id LevelID) (int, error) {
	log := c.Log.For(id.Run, "level", id.Level)

	return activities.Do(ctx, log, func(ctx context.Context, _ activities.Progress) (int, error) {
		specification, err := c.Runs.Spec(ctx, id.Run, 0)
		if err != nil {
			return 0, err
		}
		plan, _, err := runs.Run(id.Run).LevelPlan(id.Level).Record(ctx, c.Bucket, func() (runs.LevelPlan, error) {
			trajectories, err := c.trajectories(ctx, specification)

			return planLevel(specification, id.Level, trajectories), err
		})

		return len(plan.Picks), err
	})
}

// trajectories reads all tasks that the UI agent played.
func (c *Control) trajectories(ctx context.Context, specification spec.Spec) ([]runs.Trajectory, error) {
	trajectories := make([]runs.Trajectory, specification.FineTune.Demonstrations)
	reads, ctx := errgroup.WithContext(ctx)
	reads.SetLimit(activities.ParallelReads)
	for i := range trajectories {
		reads.Go(func() (err error) {
			trajectories[i], _, err = runs.Run(specification.Name).Trajectory(i).Must(ctx, c.Bucket)
			endpoints.Progress(ctx, fmt.Sprintf("trajectory %d is read", i))

			return err
		})
	}

	return trajectories, reads.Wait()
}

// planLevel keeps a share of the first screens (levels 1 and 2) or the steps of successful trajectories (level 3), at
// most as many as the specification allows.
func planLevel(specification spec.Spec, level int, trajectories []runs.Trajectory) runs.LevelPlan {
	plan := runs.LevelPlan{Level: level, Counts: synth.NewItemCounts(), Picks: [][2]int{}}
	counts := &plan.Counts
	for i, trajectory := range trajectories {
		if trajectory.Failed != "" {
			counts.Unplayed++
		}
		seed := trajectory.Slot.Seed
		for k := range trajectory.Screens {
			counts.Screens++
			switch {
			case level == 3 && !trajectory.Success:
				counts.Failed++
			case level < 3 && k == 0 && domain.Rand(seed, "keep first").Float64() >= specification.Synthesis.KeepFirst:
				counts.First++
			default:
				plan.Picks = append(plan.Picks, [2]int{i, k})
			}
		}
	}

	limit := specification.Synthesis.Screens
	if level == 3 {
		limit = specification.Synthesis.Pairs
	}
	picked := len(plan.Picks)
	if picked <= limit {
		return plan
	}

	at := domain.Rand(specification.Seed, "screens", level == 3).Perm(picked)[:limit]
	slices.Sort(at)
	kept := make([][2]int, limit)
	for i, k := range at {
		kept[i] = plan.Picks[k]
	}
	plan.Picks = kept
	counts.Over = picked - limit

	return plan
}
