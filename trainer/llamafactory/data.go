package llamafactory

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/trainer"
	"github.com/collabui/collabui/trainer/external"
	"github.com/collabui/collabui/trainer/rows"
)

// dataDir is the part of a job's folder with the data set.
const dataDir = "data"

// dataset is a data set that was written.
type dataset struct {
	name    string
	rows    int
	skipped int // rows that are longer than the cutoff
}

// data writes the data set's files. Every row is read back as the program would read it. Rows that are longer than the
// cutoff are left out, if they are no more than the job allows.
func (t *Tool) data(ctx context.Context, folder external.Folder, job trainer.Job, options Options) (dataset, error) {
	set, err := setOf(job)
	if err != nil {
		return dataset{}, err
	}
	ranking := job.Objective == trainer.DPO
	file := set.File(rows.ShareGPT, ranking)

	var data, info bytes.Buffer
	if err := errors.Join(set.Encode(&data, file), rows.Info(&info, set)); err != nil {
		return dataset{}, fault.As(fault.Fatal, err)
	}
	long, err := t.check(ctx, file.Name, data.Bytes(), ranking, options, pixelsOf(job))
	if err != nil {
		return dataset{}, err
	}
	if len(long) > 0 {
		if err := tooMany(long, len(set.Pairs), job.Skip, file.Name, options); err != nil {
			return dataset{}, err
		}
		set.Pairs = without(set.Pairs, long)
		data.Reset()
		if err := set.Encode(&data, file); err != nil {
			return dataset{}, fault.As(fault.Fatal, err)
		}
	}

	dir := filepath.Join(folder.Path, dataDir)
	err = errors.Join(
		os.MkdirAll(dir, 0o755),
		os.WriteFile(filepath.Join(dir, file.Name), data.Bytes(), 0o644),
		os.WriteFile(filepath.Join(dir, rows.InfoFile), info.Bytes(), 0o644),
	)
	if err != nil {
		return dataset{}, fault.New(fault.Transient, "write the data set: %w", err)
	}

	return dataset{name: file.Dataset, rows: len(set.Pairs), skipped: len(long)}, t.images(ctx, set.Pairs, dir)
}

// setOf returns the data set of a job. A pair that lacks what the objective needs is an invalid fault.
func setOf(job trainer.Job) (rows.Set, error) {
	set := rows.Set{Name: "data", System: job.System, Pairs: external.Copies(job.Pairs)}
	if strings.TrimSpace(job.System) == "" {
		return set, fault.New(fault.Invalid,
			"job %s has no system message: the chat templates of trainer and server would insert different ones",
			job.ID)
	}

	for i, example := range set.Pairs {
		unranked := job.Objective == trainer.DPO && (example.Rejected == "" || example.Rejected == example.Chosen)
		if example.Prompt == "" || example.Chosen == "" || unranked {
			return set, fault.New(fault.Invalid,
				"row %d of job %s lacks a prompt or an answer, or its answers are equal", i+1, job.ID)
		}
		if job.Objective == trainer.SFT {
			set.Pairs[i].Rejected = ""
		}
	}

	return set, nil
}

// images fetches the screenshots of a data set.
func (t *Tool) images(ctx context.Context, pairs []domain.Example, dir string) error {
	for _, pair := range pairs {
		if pair.Image == "" {
			continue
		}
		file := filepath.Join(dir, rows.ImageFile(pair.Image))
		if _, err := os.Stat(file); err == nil {
			continue
		}
		if err := store.GetBlobFile(ctx, t.Bucket, pair.Image, file); err != nil {
			return fmt.Errorf("screenshot of the data set: %w", err)
		}
	}

	return nil
}
