package epoch

import (
	"context"
	"fmt"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/gates"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/policy/endpoints"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// ValResult is the record of a system's result on val.
func ValResult(run string, epoch int, system string) runs.Object[runs.Result] {
	return runs.Run(run).Result(valID(epoch, system))
}

func valID(epoch int, system string) string {
	return rules.EvalID(rules.EpochFolder(epoch), system, domain.SplitVal)
}

// pairedVal returns what the systems of two epochs reached in the episodes of val that both of them played. The
// episodes must be the same.
func pairedVal(
	ctx context.Context, bucket store.Bucket, specification spec.Spec, parent, epoch int,
) ([]gates.PairedVal, error) {
	run := runs.Run(specification.Name)
	outcome := func(ctx context.Context, epoch, i int) (float64, bool, error) {
		id := valID(epoch, rules.ValName(specification, epoch))
		episode, _, err := run.EvalEpisode(id, i+1).Must(ctx, bucket)
		reached, ok := gates.ValOutcome(episode.Outcome)

		return reached, ok, err
	}

	var out []gates.PairedVal
	type both struct {
		gates.PairedVal
		ok bool
	}
	read := func(ctx context.Context, i int) (both, error) {
		before, played, err := outcome(ctx, parent, i)
		if err != nil || !played {
			return both{}, err
		}
		after, played, err := outcome(ctx, epoch, i)

		return both{PairedVal: gates.PairedVal{Parent: before, New: after}, ok: played}, err
	}
	err := store.InOrder(ctx, specification.Evaluation.Val, read, func(i int, pair both) error {
		endpoints.Progress(ctx, fmt.Sprintf("episode %d of val is read", i+1))
		if pair.ok {
			out = append(out, pair.PairedVal)
		}

		return nil
	})

	return out, err
}

// Val returns what the system of a committed epoch reached on val, or nil if its commit has no such result. Epoch 0 is
// the base policy, which a run that has begun its first epoch has evaluated.
func Val(ctx context.Context, bucket store.Bucket, specification spec.Spec, epoch int) (*runs.Result, error) {
	if epoch > 0 {
		e, _, err := runs.Run(specification.Name).Epoch(epoch).Must(ctx, bucket)

		return e.Val, err
	}
	result, _, err := ValResult(specification.Name, 0, rules.ValName(specification, 0)).Must(ctx, bucket)

	return &result, err
}
