package retrain

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/internal/care/fork"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/records/schedules"
)

// Fork makes the run that trains the accepted system again: a fork of its run after its epoch, on what the environment
// offers now. It may be repeated.
func (c *Control) Fork(ctx context.Context, id FiringID) (string, error) {
	return activities.Do(ctx, id.log(c.Log), func(ctx context.Context, progress activities.Progress) (string, error) {
		firing, version, err := c.firing(ctx, id)
		if err != nil {
			return "", err
		}
		typed, err := c.values(ctx, firing, version)
		if err != nil {
			return "", err
		}
		plan, err := fork.Plan(ctx, c.Bucket, fork.Request{
			Run: runs.Run(firing.Accepted.Run), Name: runs.Run(firing.Run), Epoch: firing.Accepted.Epoch,
			Who: "schedule " + id.Schedule, Why: firing.Why, At: firing.At, Typed: typed,
		}, spec.Source{}, c.Catalog)
		if err != nil {
			return "", err
		}

		return firing.Run, plan.Make(ctx, c.Bucket, func(n int) { progress(fmt.Sprintf("%d objects are shared", n)) })
	})
}

// values returns the values that a fork gets from its schedule, in YAML by key.
func (c *Control) values(
	ctx context.Context, firing schedules.Firing, version schedules.Version,
) (map[string]string, error) {
	schedule := version.Schedule
	specification, err := runs.Run(firing.Accepted.Run).At(ctx, c.Bucket, firing.Accepted.Epoch)
	if err != nil {
		return nil, err
	}
	environments := maps.Clone(specification.Environments)
	if environments == nil {
		environments = map[string]envadapters.Options{}
	}
	maps.Copy(environments, schedule.Environments)
	now, err := runs.ReadInventory(ctx, c.Bucket, firing.Basis.Inventory)
	if err != nil {
		return nil, err
	}
	where := schedule.Where()
	where.Inventory = now.Digest()
	environments[schedule.Environment] = where

	typed := maps.Clone(schedule.Train.Set)
	if typed == nil {
		typed = map[string]string{}
	}
	typed["environment"] = schedule.Environment
	typed["epochs"] = fmt.Sprint(firing.Accepted.Epoch + schedule.Train.Epochs)
	typed["environments"] = encoded(environments)
	typed["focus"] = encoded(spec.Focus{})
	if len(firing.New) > 0 && len(firing.Old) > 0 {
		typed["focus"] = encoded(spec.Focus{Templates: firing.New, Share: 1 - schedule.Train.Replay})
	}

	return typed, nil
}

// encoded returns JSON, which is YAML.
func encoded(value any) string {
	raw, err := json.Marshal(value)
	if err != nil {
		panic(err) // plain values can be encoded
	}

	return string(raw)
}
