package activities

import (
	"context"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/internal/method/episode"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store/runs"
)

// Refer evaluates a reference, which has no policies, on a split: every template once, in this process and without a
// store. It is not an activity.
func Refer(ctx context.Context, suite envadapters.Suite, split string, system rules.EvalSystem) (runs.Result, error) {
	templates, err := suite.Templates(split)
	if err != nil {
		return runs.Result{}, err
	}

	v := episode.Evaluation{Spec: spec.Default(), System: system, Split: split}
	var outcomes []domain.Outcome
	wins := 0
	for i := range templates {
		task, err := rules.EvalTask(v.Spec, suite, split, i)
		if err != nil {
			return runs.Result{}, err
		}
		err = episode.In(ctx, suite, v.Family(suite), func(env envadapters.Environment) error {
			player, _, err := v.Player(env, i)
			if err != nil {
				return err
			}
			played, err := player.Play(ctx, env, task)
			if err != nil {
				return err
			}
			if outcomes = append(outcomes, played.Outcome); played.Outcome.Success {
				wins++
			}

			return nil
		})
		if err != nil {
			return runs.Result{}, err
		}
	}

	result := runs.NewResult(system.Name, split, wins, len(templates), 0, system.Decoding())
	if protocol := envadapters.ProtocolOf(suite); protocol != "" {
		result = runs.NewRecorded(system.Name, split, envadapters.StepSR, system.Decoding(), outcomes)
		result.Protocol = protocol
	}
	result.Environment = suite.Title()

	return result, nil
}
