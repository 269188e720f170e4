package evaluate

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/observe/events"
	"github.com/collabui/collabui/internal/policy/endpoints"
	"github.com/collabui/collabui/internal/records/runs"
)

// Evaluated is an evaluated item.
type Evaluated struct {
	Item rules.EvalItem
	Part Part
}

// Conclude records an item's result.
func (c *Control) Conclude(ctx context.Context, e Evaluated) (runs.Result, error) {
	item := e.Item
	log := c.Log.For(item.Run, "system", item.System.Name, "split", item.Split)

	return activities.Do(ctx, log, func(ctx context.Context, _ activities.Progress) (runs.Result, error) {
		recorded := runs.Run(item.Run).Result(item.ID())
		var result runs.Result
		var err error
		if e.Part.Over { // a fork may share it
			result, _, err = recorded.Must(ctx, c.Bucket)
		} else {
			result, _, err = recorded.Record(ctx, c.Bucket, func() (runs.Result, error) { return c.result(ctx, e) })
		}
		if err == nil {
			c.Emit.Send(item.Run, events.Result{
				Folder: item.Folder, System: result.System, Split: result.Split,
				Episodes: result.Episodes, Successes: result.Successes, Rate: result.Rate,
			})
		}

		return result, err
	})
}

// result counts an item: by episodes, or by steps where tasks are recorded.
func (c *Control) result(ctx context.Context, evaluated Evaluated) (runs.Result, error) {
	item := evaluated.Item
	specification, err := c.Runs.OfItem(ctx, item)
	if err != nil {
		return runs.Result{}, err
	}
	if err := c.checkMissing(ctx, specification, evaluated); err != nil {
		return runs.Result{}, err
	}
	suite, err := c.Suites.Get(ctx, item.Where(specification))
	if err != nil {
		return runs.Result{}, err
	}

	protocol := envadapters.ProtocolOf(suite)
	result := runs.NewResult(item.System.Name, item.Split,
		evaluated.Part.Successes, item.Episodes-evaluated.Part.Missing, evaluated.Part.Missing, item.System.Decoding())
	if protocol != "" {
		tasks, err := c.outcomes(ctx, item)
		if err != nil {
			return result, err
		}
		result = runs.NewRecorded(result.System, result.Split, envadapters.StepSR, result.Decoding, tasks)
		result.Protocol = protocol
	}
	result.Cut = evaluated.Part.Cut
	result.Refused = evaluated.Part.Refused
	result.Repaired = evaluated.Part.Repaired
	result.Cost = evaluated.Part.Cost
	result.Money = specification.Models[spec.Role(item.System.Model)].Price.Of(result.Cost.Usage)
	if protocol == "" && item.Environment == "" {
		return result, nil
	}

	result.Environment = suite.Title()
	if versioned, ok := suite.(envadapters.Versioned); ok {
		result.Version, err = versioned.Version(ctx)
	}

	return result, err
}

// checkMissing refuses a result on val of which more tasks are missing than failed_share allows, unless a person
// accepted that.
func (c *Control) checkMissing(ctx context.Context, specification spec.Spec, evaluated Evaluated) error {
	item := evaluated.Item
	fewMissing := float64(evaluated.Part.Missing) <= specification.FailedShare*float64(item.Episodes)
	if fewMissing || item.Split != domain.SplitVal || item.Environment != "" {
		return nil
	}
	epoch, ok := rules.EpochOf(item.Folder)
	if !ok {
		return nil
	}
	accepted, err := runs.Run(item.Run).IsAccepted(ctx, c.Bucket, epoch)
	if err != nil || accepted {
		return err
	}

	return fault.New(fault.Invalid, "%d of %d tasks of val cannot be played, more than failed_share allows; "+
		"the episodes under evals/%s say why. Go on without them with "+
		"`collabui resume %s --accept-failed --why TEXT`",
		evaluated.Part.Missing, item.Episodes, item.ID(), item.Run)
}

// outcomes reads the episodes of an item.
func (c *Control) outcomes(ctx context.Context, item rules.EvalItem) ([]domain.Outcome, error) {
	outcomes := make([]domain.Outcome, item.Episodes)
	reads, ctx := errgroup.WithContext(ctx)
	reads.SetLimit(activities.ParallelReads)
	for i := range outcomes {
		reads.Go(func() error {
			episode, _, err := runs.Run(item.Run).EvalEpisode(item.ID(), i+1).Must(ctx, c.Bucket)
			outcomes[i] = episode.Outcome
			endpoints.Progress(ctx, fmt.Sprintf("episode %d is read", i+1))

			return err
		})
	}

	return outcomes, reads.Wait()
}
