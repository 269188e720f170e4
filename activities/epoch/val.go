package epoch

import (
	"context"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// ValResult is the record of a system's result on val.
func ValResult(run string, epoch int, system string) runs.Object[runs.Result] {
	return runs.Run(run).Result(rules.EvalID(rules.EpochFolder(epoch), system, domain.SplitVal))
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
