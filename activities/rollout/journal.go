package rollout

import (
	"context"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/internal/method/attempt"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// journal records the attempts at a slot in the store. It refuses records of another run of the name.
type journal struct {
	bucket store.Bucket
	id     activities.SlotID
	writer activities.Writer
}

var _ attempt.Journal = journal{}

func (j journal) Ended(ctx context.Context, attempt int) (runs.Episode, bool, error) {
	end := runs.Run(j.id.Run).Attempt(j.id.Epoch, j.id.Slot, attempt)
	episode, ended, err := store.May[runs.Episode](ctx, j.bucket, end.Key)
	if err != nil || !ended {
		return episode, false, err
	}

	return episode, true, j.writer.Check(end.Key, episode.By, nil)
}

func (j journal) Begin(ctx context.Context, claim runs.Start) (runs.Start, bool, error) {
	claim.By = j.writer.By
	object := runs.Run(j.id.Run).Start(j.id.Epoch, j.id.Slot, claim.Attempt)
	standing, _, first, err := object.Write(ctx, j.bucket, claim)

	return standing, first, j.writer.Check(object.Key, standing.By, err)
}

func (j journal) Decided(ctx context.Context, attempt, step int) (bool, error) {
	return runs.Run(j.id.Run).Step(j.id.Epoch, j.id.Slot, attempt, step).Exists(ctx, j.bucket)
}

func (j journal) Step(
	ctx context.Context, attempt, number int, fresh bool, decide func() (runs.Step, error),
) (runs.Step, store.Ref, error) {
	object := runs.Run(j.id.Run).Step(j.id.Epoch, j.id.Slot, attempt, number)
	decideAndSign := func() (runs.Step, error) {
		step, err := decide()
		step.By = j.writer.By

		return step, err
	}
	if !fresh {
		step, ref, err := object.Record(ctx, j.bucket, decideAndSign)

		return step, ref, j.writer.Check(object.Key, step.By, err)
	}

	step, err := decideAndSign()
	if err != nil {
		return step, store.Ref{}, err
	}
	step, ref, _, err := object.Write(ctx, j.bucket, step)

	return step, ref, j.writer.Check(object.Key, step.By, err)
}

func (j journal) End(ctx context.Context, episode runs.Episode) (runs.Episode, error) {
	episode.By = j.writer.By
	object := runs.Run(j.id.Run).Attempt(j.id.Epoch, j.id.Slot, episode.Attempt)
	episode, _, _, err := object.Write(ctx, j.bucket, episode)

	return episode, j.writer.Check(object.Key, episode.By, err)
}

func (j journal) Again(ctx context.Context, attempt int) (bool, error) {
	return runs.Run(j.id.Run).Again(ctx, j.bucket, j.id.Epoch, j.id.Slot, attempt)
}
