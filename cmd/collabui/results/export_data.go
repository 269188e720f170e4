package results

import (
	"context"
	"fmt"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/method/synth"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/trainer/rows"
)

// dataSets returns the data sets of an epoch, or of stage 1 for epoch 0. It returns nothing before stage 1 has data.
func dataSets(ctx context.Context, bucket store.Bucket, specification spec.Spec, epoch int) ([]rows.Set, error) {
	template, err := rules.Template(specification)
	if err != nil {
		return nil, err
	}
	run := runs.Run(specification.Name)
	system := template.System()
	if epoch > 0 {
		return epochSets(ctx, bucket, run, epoch, system)
	}

	sets, err := levelSets(ctx, bucket, run, system)
	if err != nil || len(sets) > 0 {
		return sets, err
	}
	pairs, err := demonstrations(ctx, bucket, run)
	if err != nil || len(pairs) == 0 {
		return nil, err
	}

	return []rows.Set{{Name: "demonstrations", System: system, Pairs: pairs}}, nil
}

// epochSets returns the preference pairs of an epoch, one set per agent.
func epochSets(ctx context.Context, bucket store.Bucket, run runs.Run, epoch int, system string) ([]rows.Set, error) {
	e, _, err := run.Epoch(epoch).Must(ctx, bucket)
	if err != nil {
		return nil, fmt.Errorf("epoch %d of run %q: %w", epoch, string(run), err)
	}
	var sets []rows.Set
	for i, ref := range e.Updates {
		update, _, err := store.Must[runs.Update](ctx, bucket, ref.Key)
		if err != nil {
			return nil, err
		}
		dataset, _, err := store.Must[runs.Dataset](ctx, bucket, update.Dataset.Key)
		if err != nil {
			return nil, err
		}
		pairs, err := runs.ReadPairs(ctx, bucket, dataset.Body)
		if err != nil {
			return nil, err
		}
		sets = append(sets, rows.Set{Name: fmt.Sprintf("epoch%d-agent%d", epoch, i), System: system, Pairs: pairs})
	}

	return sets, nil
}

// levelSets returns the data sets of the levels of stage 1.
func levelSets(ctx context.Context, bucket store.Bucket, run runs.Run, system string) ([]rows.Set, error) {
	levels, err := run.Levels(ctx, bucket)
	if err != nil {
		return nil, err
	}
	var sets []rows.Set
	for _, level := range levels {
		pairs, err := runs.ReadPairs(ctx, bucket, level.Body)
		if err != nil {
			return nil, err
		}
		sets = append(sets, rows.Set{
			Name: fmt.Sprintf("level%d", level.Card.Level), System: synth.SystemOf(pairs, system), Pairs: pairs,
		})
	}

	return sets, nil
}

// demonstrations returns the data of stage 1 in a run without levels.
func demonstrations(ctx context.Context, bucket store.Bucket, run runs.Run) ([]domain.Example, error) {
	var pairs []domain.Example
	for i := 0; ; i++ {
		demonstration, there, err := run.Demonstration(i).Sure(ctx, bucket)
		if err != nil || !there {
			return pairs, err
		}
		pairs = append(pairs, demonstration.Pairs...)
	}
}

// exportFiles returns the files of data sets, with screenshots, by their paths.
func exportFiles(ctx context.Context, bucket store.Bucket, sets []rows.Set) (map[string][]byte, error) {
	files, err := rows.Export(sets...)
	if err != nil {
		return nil, fault.As(fault.Fatal, err)
	}

	for _, set := range sets {
		for _, pair := range set.Pairs {
			path := rows.ImageFile(pair.Image)
			if pair.Image == "" || files[path] != nil {
				continue
			}
			if files[path], err = store.GetBlob(ctx, bucket, pair.Image); err != nil {
				return nil, err
			}
		}
	}

	return files, nil
}
