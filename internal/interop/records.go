package interop

import (
	"context"
	"slices"
	"strings"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// Records are the sources of a run's figures: its committed epochs, evaluations, and calls to chat endpoints.
type Records struct {
	Run      runs.Run
	Spec     spec.Spec
	Stored   store.Ref   // the specification
	Epochs   []Committed // from 1
	Results  []Evaluated
	Spending []runs.Spending
	Ended    bool
}

// Committed is an epoch with the updates of its agents.
type Committed struct {
	runs.Epoch
	Updates []runs.Update
	Pairs   []int // rows of the data sets, by agent
}

// Evaluated is the result of an evaluated item.
type Evaluated struct {
	Folder string
	Epoch  int // of the systems; 0 is the base policy, and items that belong to no epoch
	runs.Result
}

// Read reads the records of a run.
func Read(ctx context.Context, bucket store.Bucket, run runs.Run) (Records, error) {
	records := Records{Run: run}
	var err error
	if records.Spec, err = run.Find(ctx, bucket); err != nil {
		return records, err
	}
	if _, records.Stored, err = run.Spec().Must(ctx, bucket); err != nil {
		return records, err
	}
	for records.Ended, err = run.End().Exists(ctx, bucket); err == nil; {
		var more bool
		if more, err = records.readEpoch(ctx, bucket, len(records.Epochs)+1); !more {
			break
		}
	}
	if err != nil {
		return records, err
	}
	if err := records.readResults(ctx, bucket); err != nil {
		return records, err
	}
	if len(records.Spec.Models) > 0 {
		records.Spending, err = run.Spending(ctx, bucket)
	}

	return records, err
}

// readEpoch reads an epoch, and reports whether it is committed.
func (r *Records) readEpoch(ctx context.Context, bucket store.Bucket, number int) (bool, error) {
	epoch, committed, err := r.Run.Epoch(number).May(ctx, bucket)
	if err != nil || !committed {
		return false, err
	}
	c := Committed{Epoch: epoch}
	for _, ref := range epoch.Updates {
		if err != nil {
			break
		}
		var update runs.Update
		if update, _, err = store.Must[runs.Update](ctx, bucket, ref.Key); err != nil {
			break
		}
		var set runs.Dataset
		if update.Dataset.Key != "" {
			set, _, err = store.Must[runs.Dataset](ctx, bucket, update.Dataset.Key)
		}
		c.Updates = append(c.Updates, update)
		c.Pairs = append(c.Pairs, set.Count)
	}
	r.Epochs = append(r.Epochs, c)

	return err == nil, err
}

// readResults reads the results of all evaluated items.
func (r *Records) readResults(ctx context.Context, bucket store.Bucket) error {
	keys, err := r.Run.Keys(ctx, bucket, "evals/")
	if err != nil {
		return err
	}
	for _, key := range keys {
		item, ok := strings.CutSuffix(strings.TrimPrefix(key, r.Run.EvalPrefix()), "/result.json")
		if !ok {
			continue
		}
		result, _, err := r.Run.Result(item).Must(ctx, bucket)
		if err != nil {
			return err
		}
		folder, rest, _ := strings.Cut(item, "/")
		epoch, _ := rules.EpochOf(folder)
		result.System, result.Split, _ = strings.Cut(rest, "/")
		r.Results = append(r.Results, Evaluated{Folder: folder, Epoch: epoch, Result: result})
	}

	return nil
}

// base returns the result of the base policy on val, with which the curve of val begins.
func (r Records) base() (Evaluated, bool) {
	i := slices.IndexFunc(r.Results, func(e Evaluated) bool {
		return e.Folder == rules.EpochFolder(0) && e.System == rules.ValName(r.Spec, 0) && e.Split == domain.SplitVal
	})
	if i < 0 {
		return Evaluated{}, false
	}

	return r.Results[i], true
}
