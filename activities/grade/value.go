package grade

import (
	"context"
	"fmt"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/method/value"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// FitValue learns how likely an episode is to succeed from all episodes of earlier epochs, and returns their number.
func (m *Models) FitValue(ctx context.Context, id activities.EpochID) (int, error) {
	log := m.Log.For(id.Run, "epoch", id.Epoch)

	return activities.Do(ctx, log, func(ctx context.Context, progress activities.Progress) (int, error) {
		fitted, _, err := runs.Run(id.Run).Value(id.Epoch).Record(ctx, m.Bucket, func() (runs.Value, error) {
			return m.fitValue(ctx, id, progress)
		})

		return fitted.Episodes, err
	})
}

func (m *Models) fitValue(
	ctx context.Context, id activities.EpochID, progress activities.Progress,
) (runs.Value, error) {
	var out runs.Value
	var examples []value.Example
	specification, err := m.Runs.Spec(ctx, id.Run, id.Epoch)
	if err != nil {
		return out, err
	}
	run := runs.Run(id.Run)
	for epoch := 1; epoch < id.Epoch; epoch++ {
		slots, _, err := run.Slots(epoch).Must(ctx, m.Bucket)
		if err != nil {
			return out, err
		}
		read := func(ctx context.Context, i int) ([]value.Example, error) {
			e, _, err := run.Episode(ctx, m.Bucket, epoch, i+1)
			if err != nil || e.Failed != "" {
				return nil, err
			}
			steps, err := e.ReadSteps(ctx, m.Bucket)
			var ofEpisode []value.Example
			for _, step := range steps {
				ofEpisode = append(ofEpisode, value.Example{State: stateOf(step.Step), Success: e.Outcome.Success})
			}

			return ofEpisode, err
		}
		err = store.InOrder(ctx, len(slots.Slots), read, func(i int, ofEpisode []value.Example) error {
			if len(ofEpisode) > 0 {
				out.Episodes++
			}
			examples = append(examples, ofEpisode...)
			progress(fmt.Sprintf("epoch %d, episode %d", epoch, i+1))

			return nil
		})
		if err != nil {
			return out, err
		}
	}

	out.Steps = len(examples)
	fitted := value.Fit(examples, domain.Seed(specification.Seed, "value", id.Epoch))
	if fitted == nil {
		return out, nil
	}
	ref, err := store.PutBlob(ctx, m.Bucket, fitted.Encode())
	out.Model = &ref

	return out, err
}

func stateOf(step domain.Step) value.State {
	return value.State{Goal: step.Goal, Step: step.Number, Observation: step.Observation}
}

// advantages returns the labeller of an episode whose steps are labelled by their advantage: above 1/H, for an episode
// of at most H steps. Where nothing is known yet, the outcome labels them.
func (f Feedback) advantages(ctx context.Context, run string, episode Episode) (Labeller, error) {
	var recorded runs.Value
	if episode.Slot.Epoch > 0 { // stage 1 knows nothing yet
		var err error
		recorded, _, err = runs.Run(run).Value(episode.Slot.Epoch).Must(ctx, f.Bucket)
		if err != nil {
			return nil, err
		}
	}
	if recorded.Model == nil {
		return func(_ context.Context, step domain.Step) (domain.Credit, error) {
			return credit.Outcome(step, episode.Success), nil
		}, nil
	}
	raw, err := store.GetBlob(ctx, f.Bucket, recorded.Model.SHA256)
	if err != nil {
		return nil, err
	}
	model, ok := value.Decode(raw)
	if !ok {
		return nil, fault.New(fault.Corrupt, "blob %s is no value", recorded.Model.SHA256)
	}
	states := make([]value.State, len(episode.steps))
	for i, step := range episode.steps {
		states[i] = stateOf(step)
	}
	advantages := model.Advantages(states, episode.Success)
	threshold := 1 / float64(max(episode.Slot.Task.MaxSteps, 1))

	return func(_ context.Context, step domain.Step) (domain.Credit, error) {
		return credit.Advantage(step, advantages[step.Number-1], threshold), nil
	}, nil
}
