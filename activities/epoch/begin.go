package epoch

import (
	"context"
	"runtime/debug"
	"time"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/activities/play"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// Begin records what an epoch begins with: the versions on this worker, and the number of changes by people that count.
// It returns the specification of the epoch. Epoch 0 is stage 1, before the first epoch. At the end of a run, whose
// last epoch is last, those changes count that were made before its last evaluations.
func Begin(
	ctx context.Context, common activities.Common, suites *play.Suites, id activities.EpochID, last int,
) (spec.Spec, error) {
	_, _, err := activities.BeginningOf(id.Run, id.Epoch).Record(ctx, common.Bucket, func() (runs.Made, error) {
		return beginning(ctx, common, suites, id, last)
	})
	if err != nil {
		return spec.Spec{}, err
	}

	return common.Runs.Spec(ctx, id.Run, id.Epoch)
}

func beginning(
	ctx context.Context, common activities.Common, suites *play.Suites, id activities.EpochID, last int,
) (runs.Made, error) {
	specification, changes, err := common.Runs.Latest(ctx, id.Run, id.Changes)
	if err != nil {
		return runs.Made{}, err
	}
	suite, err := suites.Get(ctx, specification.Where(specification.Environment))
	if err != nil {
		return runs.Made{}, err
	}
	out, err := common.Runs.Versions(ctx, specification, suite)
	if err != nil {
		return out, err
	}

	out.Code = revision()
	if id.Epoch == 0 {
		out.Began = time.Now().UTC()
	} else {
		out.Changes = changes
	}
	if id.Epoch == activities.AtEnd {
		out.Epoch = last

		return out, nil
	}
	out.Inventory, err = putInventory(ctx, common.Bucket, specification.Environment, suite)

	return out, err
}

// putInventory writes what the environment of a run offers.
func putInventory(
	ctx context.Context, bucket store.Bucket, name string, suite envadapters.Suite,
) (*store.Ref, error) {
	offered, err := play.InventoryOf(ctx, name, suite)
	if err != nil {
		return nil, err
	}
	ref, err := offered.PutBlob(ctx, bucket)

	return &ref, err
}

// revision returns the revision of the source that this program was built from, if the build knew it.
func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	code := ""
	for _, setting := range info.Settings {
		switch {
		case setting.Key == "vcs.revision":
			code = setting.Value + code
		case setting.Key == "vcs.modified" && setting.Value == "true":
			code += ", changed"
		}
	}

	return code
}
