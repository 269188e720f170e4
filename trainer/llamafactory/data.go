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
func (t *Tool) data(ctx context.Context, f external.Folder, j trainer.Job, o Options) (dataset, error) {
	set, err := setOf(j)
	if err != nil {
		return dataset{}, err
	}
	ranking := j.Objective == trainer.DPO
	file := set.File(rows.ShareGPT, ranking)

	var data, info bytes.Buffer
	if err := errors.Join(set.Encode(&data, file), rows.Info(&info, set)); err != nil {
		return dataset{}, fault.As(fault.Fatal, err)
	}
	long, err := t.check(ctx, file.Name, data.Bytes(), ranking, o)
	if err != nil {
		return dataset{}, err
	}
	if len(long) > 0 {
		if err := tooMany(long, len(set.Pairs), j.Skip, file.Name, o); err != nil {
			return dataset{}, err
		}
		set.Pairs = without(set.Pairs, long)
		data.Reset()
		if err := set.Encode(&data, file); err != nil {
			return dataset{}, fault.As(fault.Fatal, err)
		}
	}

	dir := filepath.Join(f.Path, dataDir)
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
func setOf(j trainer.Job) (rows.Set, error) {
	set := rows.Set{Name: "data", System: j.System, Pairs: external.Copies(j.Pairs)}
	if strings.TrimSpace(j.System) == "" {
		return set, fault.New(fault.Invalid,
			"job %s has no system message: the chat templates of trainer and server would insert different ones", j.ID)
	}

	for i, p := range set.Pairs {
		unranked := j.Objective == trainer.DPO && (p.Rejected == "" || p.Rejected == p.Chosen)
		if p.Prompt == "" || p.Chosen == "" || unranked {
			return set, fault.New(fault.Invalid,
				"row %d of job %s lacks a prompt or an answer, or its answers are equal", i+1, j.ID)
		}
		if j.Objective == trainer.SFT {
			set.Pairs[i].Rejected = ""
		}
	}

	return set, nil
}

// images fetches the screenshots of a data set.
func (t *Tool) images(ctx context.Context, pairs []domain.Example, dir string) error {
	for _, p := range pairs {
		if p.Image == "" {
			continue
		}
		file := filepath.Join(dir, rows.ImageFile(p.Image))
		if _, err := os.Stat(file); err == nil {
			continue
		}
		if err := store.GetBlobFile(ctx, t.Bucket, p.Image, file); err != nil {
			return fmt.Errorf("screenshot of the data set: %w", err)
		}
	}

	return nil
}
