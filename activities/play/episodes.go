// Package play is what all episodes of a worker need: open environments, models, screenshots, and the wording of the
// embedded policy. It registers no activity, and does not know why an episode is played.
package play

import (
	"context"
	"time"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/internal/method/episode"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/policy/endpoints"
)

// maxPlaceWait is how long an episode waits for an environment: others play longer than an activity may be silent.
const maxPlaceWait = 100 * time.Minute

// In is episode.In, and counts the environments that play. It begins no episode while a person holds the run.
func In(
	ctx context.Context, common activities.Common, run string, suite envadapters.Suite, family domain.Family,
	play func(envadapters.Environment) error,
) error {
	wait, cancel := context.WithTimeout(ctx, maxPlaceWait)
	defer cancel()
	stop := endpoints.While(wait, "waits for an environment")

	return episode.In(ctx, suite, family, func(env envadapters.Environment) error {
		stop()
		defer func() { stop = endpoints.While(wait, "waits for another environment") }()
		if err := common.Runs.CheckHold(ctx, run); err != nil {
			return err
		}
		defer common.Metrics.Take(suite.Name())()

		return play(env)
	})
}

// TrainingSuite returns the specification of an epoch and the suite that it trains on.
func TrainingSuite(
	ctx context.Context, common activities.Common, suites *Suites, run string, epoch int,
) (spec.Spec, envadapters.Suite, error) {
	specification, err := common.Runs.Spec(ctx, run, epoch)
	if err != nil {
		return specification, nil, err
	}
	suite, err := suites.Get(ctx, specification.Where(specification.Environment))

	return specification, suite, err
}
