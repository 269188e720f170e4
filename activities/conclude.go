package activities

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/observe/events"
	"github.com/collabui/collabui/internal/policy/endpoints"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// Evaluated is an evaluated item.
type Evaluated struct {
	Item rules.EvalItem
	Part EvalPart
}

// Conclude records an item's result.
func (c *Control) Conclude(ctx context.Context, e Evaluated) (runs.Result, error) {
	item := e.Item
	log := c.log(item.Run, "system", item.System.Name, "split", item.Split)

	return do(ctx, log, func(ctx context.Context, _ say) (runs.Result, error) {
		recorded := runs.Run(item.Run).Result(item.ID())
		record := func() (runs.Result, store.Ref, error) {
			return recorded.Record(ctx, c.Bucket, func() (runs.Result, error) { return c.result(ctx, e) })
		}
		if e.Part.Over { // a fork may share it
			record = func() (runs.Result, store.Ref, error) { return recorded.Must(ctx, c.Bucket) }
		}
		result, _, err := record()
		if err == nil {
			c.Emit.send(item.Run, events.Result{
				Folder: item.Folder, System: result.System, Split: result.Split,
				Episodes: result.Episodes, Successes: result.Successes, Rate: result.Rate,
			})
		}

		return result, err
	})
}

// result counts an item: by episodes, or by steps where tasks are recorded.
func (c *Control) result(ctx context.Context, e Evaluated) (runs.Result, error) {
	item := e.Item
	s, err := c.played(ctx, item)
	if err != nil {
		return runs.Result{}, err
	}
	if err := c.enough(ctx, s, e); err != nil {
		return runs.Result{}, err
	}
	suite, err := c.Suites.get(ctx, item.Where(s))
	if err != nil {
		return runs.Result{}, err
	}

	protocol := envadapters.ProtocolOf(suite)
	result := runs.NewResult(item.System.Name, item.Split,
		e.Part.Successes, item.Episodes-e.Part.Missing, e.Part.Missing, item.System.Decoding())
	if protocol != "" {
		tasks, err := c.outcomes(ctx, item)
		if err != nil {
			return result, err
		}
		result = runs.NewRecorded(result.System, result.Split, envadapters.StepSR, result.Decoding, tasks)
		result.Protocol = protocol
	}
	result.Cut, result.Refused, result.Repaired = e.Part.Cut, e.Part.Refused, e.Part.Repaired
	result.Cost = e.Part.Cost
	if protocol == "" && item.Environment == "" {
		return result, nil
	}

	result.Environment = suite.Title()
	if v, ok := suite.(envadapters.Versioned); ok {
		result.Version, err = v.Version(ctx)
	}

	return result, err
}

// enough refuses a result on val of which more tasks are missing than failed_share allows, unless a person accepted
// that.
func (c *Control) enough(ctx context.Context, s spec.Spec, e Evaluated) error {
	item := e.Item
	few := float64(e.Part.Missing) <= s.FailedShare*float64(item.Episodes)
	if few || item.Split != domain.SplitVal || item.Environment != "" {
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
		e.Part.Missing, item.Episodes, item.ID(), item.Run)
}

// outcomes reads the episodes of an item.
func (c *Control) outcomes(ctx context.Context, item rules.EvalItem) ([]domain.Outcome, error) {
	out := make([]domain.Outcome, item.Episodes)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallelReads)
	for i := range out {
		g.Go(func() error {
			ep, _, err := runs.Run(item.Run).EvalEpisode(item.ID(), i+1).Must(ctx, c.Bucket)
			out[i] = ep.Outcome
			endpoints.Progress(ctx, fmt.Sprintf("episode %d is read", i+1))

			return err
		})
	}

	return out, g.Wait()
}
