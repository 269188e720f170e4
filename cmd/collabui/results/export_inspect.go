package results

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/interop"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/workers/catalog"
)

// inspect writes logs of Inspect: of the rollouts of each epoch, and of each evaluated item.
func (x *conversion) inspect(ctx context.Context, bucket store.Bucket, run runs.Run, options exportOptions) error {
	epochs, err := epochsOf(ctx, bucket, run, options.epoch)
	if err != nil {
		return err
	}
	for _, epoch := range epochs {
		if err := x.inspectRollouts(ctx, bucket, run, epoch); err != nil {
			return err
		}
	}
	if options.epoch != "" {
		return nil
	}
	items, err := itemsIn(ctx, bucket, run)
	if err != nil {
		return err
	}
	for _, item := range items {
		if err := x.inspectItem(ctx, bucket, run, item); err != nil {
			return err
		}
	}

	return nil
}

// itemsIn returns the evaluated items of a run that have an episode or a result, in lexical order.
func itemsIn(ctx context.Context, bucket store.Bucket, run runs.Run) ([]string, error) {
	keys, err := run.Keys(ctx, bucket, "evals/")
	var out []string
	for _, key := range keys {
		out = append(out, path.Dir(strings.TrimPrefix(key, run.EvalPrefix())))
	}

	return slices.Compact(out), err
}

// log creates a log of Inspect, calls fill with it, and writes it. fill reports whether all samples are there.
func (x *conversion) log(
	ctx context.Context, bucket store.Bucket, run runs.Run, name, model string,
	fill func(*interop.InspectLog) (bool, error),
) (err error) {
	given, err := run.Find(ctx, bucket)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(x.Out, 0o700); err != nil {
		return fault.New(fault.Invalid, "write the export: %w", err)
	}
	file, err := os.Create(filepath.Join(x.Out, strings.ReplaceAll(name, "/", ".")+".eval"))
	if err != nil {
		return fault.New(fault.Invalid, "write the export: %w", err)
	}
	defer func() {
		closing := file.Close()
		if err == nil {
			err = closing
		}
	}()
	x.Files++
	inspectLog := interop.NewInspectLog(file, time.Now(), name, model, map[string]any{
		"run": string(run), "environment": given.Environment, "critic": rules.CriticName(given, catalog.All{}),
		"collabui": x.build, "times": "the time of the export: the store keeps no times",
	})
	complete, err := fill(inspectLog)
	if err != nil {
		return err
	}

	return fault.As(fault.Invalid, inspectLog.Close(complete))
}

// inspectRollouts writes the log of an epoch's rollouts.
func (x *conversion) inspectRollouts(ctx context.Context, bucket store.Bucket, run runs.Run, epoch int) error {
	slots, _, err := run.Slots(epoch).Must(ctx, bucket)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("rollouts-epoch-%04d", epoch)
	model := fmt.Sprintf("%s@%d", run, slots.System.Version)

	return x.log(ctx, bucket, run, name, model, func(inspectLog *interop.InspectLog) (bool, error) {
		open := x.Open
		err := x.eachSlot(ctx, bucket, run, epoch, func(episode interop.Episode) error {
			inspectLog.Rollout(episode)

			return nil
		})

		return x.Open == open, err
	})
}

// inspectItem writes the log of an evaluated item.
func (x *conversion) inspectItem(ctx context.Context, bucket store.Bucket, run runs.Run, item string) error {
	specification, err := run.Find(ctx, bucket)
	if err != nil {
		return err
	}
	ended, err := run.Result(item).Exists(ctx, bucket)
	if err != nil {
		return err
	}
	keys, err := run.Keys(ctx, bucket, "evals/"+item+"/")
	if err != nil {
		return err
	}

	return x.log(ctx, bucket, run, item, string(run)+"/"+path.Dir(item), func(log *interop.InspectLog) (bool, error) {
		for _, key := range keys {
			n := 0
			if _, err := fmt.Sscanf(path.Base(key), "%d.json", &n); err != nil {
				continue // the result
			}
			evalEpisode, _, err := run.EvalEpisode(item, n).Must(ctx, bucket)
			if err != nil {
				return false, err
			}
			log.Evaluated(n, evalEpisode, specification.VoteScope == agents.ScopeLast)
			if x.Episodes++; evalEpisode.Outcome.Void != "" {
				x.Episodes = x.Episodes - 1
				x.Failed = x.Failed + 1
			}
		}

		return ended, nil
	})
}
