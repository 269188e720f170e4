package view

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/local/disk"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/records/schedules"
)

// Contents lists the subjects of a report.
type Contents struct {
	Runs        []string
	Experiments []string // with the pages of their runs, and lines about their episodes
	Lines       []string // with the pages of the runs that made their systems
}

// chunk is the number of episodes in a file of a report.
const chunk = 50

// Report writes a folder of pages and documents that needs no server. It appears whole or not at all. It returns an
// invalid fault if the folder exists. Progress is called with each document, one at a time.
func (l *Library) Report(ctx context.Context, out string, contents Contents, progress func(done string)) error {
	if _, err := os.Stat(out); !errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.Invalid, "--out %s: it exists already: name another one", out)
	}
	tmp, err := os.MkdirTemp(filepath.Dir(filepath.Clean(out)), ".report-*")
	if err != nil {
		return fault.New(fault.Invalid, "--out %s: %w", out, err)
	}
	defer func() { _ = os.RemoveAll(tmp) }()

	if err := os.CopyFS(tmp, site()); err != nil {
		return fault.As(fault.Transient, err)
	}
	w := writer{Library: l, folder: tmp, progress: progress, mu: new(sync.Mutex)}
	w.Chunk = chunk
	if err := w.all(ctx, contents); err != nil {
		return err
	}

	return fault.As(fault.Transient, os.Rename(tmp, out))
}

// writer writes the documents of a report. Its methods may be called concurrently.
type writer struct {
	*Library
	folder   string
	progress func(done string)
	mu       *sync.Mutex
}

func (w writer) all(ctx context.Context, contents Contents) error {
	var names Names
	withEpisodes := map[string]bool{}
	for _, name := range contents.Runs {
		withEpisodes[name] = true
	}
	all := contents.Runs
	for _, name := range contents.Experiments {
		page, err := w.experiment(ctx, name)
		if err != nil {
			return err
		}
		names.Experiments = append(names.Experiments, name)
		all = append(all, page.Runs...)
		if err := w.write(docExperiment+"/"+name, page); err != nil {
			return err
		}
	}
	for _, name := range contents.Lines {
		p, err := w.line(ctx, name)
		if err != nil {
			return err
		}
		names.Lines = append(names.Lines, name)
		for _, e := range p.Entries {
			all = append(all, e.System.Run)
		}
		if err := w.write(docLine+"/"+name, p); err != nil {
			return err
		}
	}

	written := map[string]bool{}
	for _, name := range all {
		if written[name] {
			continue
		}
		written[name] = true
		names.Runs = append(names.Runs, name)
		if err := w.writeRun(ctx, runs.Run(name), withEpisodes[name]); err != nil {
			return fmt.Errorf("run %s: %w", name, err)
		}
	}

	return w.writeHome(ctx, names)
}

// writeHome writes the first page, with the schedules of its lines.
func (w writer) writeHome(ctx context.Context, names Names) error {
	var err error
	if names.Schedules, err = schedules.Names(ctx, w.Bucket); err != nil {
		return err
	}
	page, err := w.home(ctx, names)
	if err != nil {
		return err
	}
	page.Schedules = slices.DeleteFunc(page.Schedules, func(schedule homeSchedule) bool {
		return !slices.Contains(names.Lines, schedule.Line)
	})
	if err := w.write(docHome, page); err != nil {
		return err
	}
	costs, err := w.costs(ctx, names.Runs)
	if err != nil {
		return err
	}
	if err := w.write(docCosts, costs); err != nil {
		return err
	}
	content := newIndex(names)
	content.Title = "Report"
	content.Made = time.Now().UTC().Format("2006-01-02 15:04 UTC")

	return w.write(docIndex, content)
}

// writeRun writes the documents of a run: with whole episodes if whole is set, and otherwise with lines about them.
func (w writer) writeRun(ctx context.Context, run runs.Run, whole bool) error {
	page, err := w.run(ctx, run)
	if err != nil {
		return err
	}
	page.Short = !whole
	if err := w.write(docRun+"/"+string(run), page); err != nil {
		return err
	}
	for _, e := range page.Epochs {
		if err := w.writeEpoch(ctx, run, e.Number, whole); err != nil {
			return err
		}
	}
	for _, e := range page.Evaluations {
		all, err := w.evalAll(ctx, run, e.ID)
		if err != nil {
			return err
		}
		if err := w.write(docEvalRows+"/"+string(run)+"/"+e.ID, evalRows(all)); err != nil {
			return err
		}
		if !whole {
			continue
		}
		if err := w.write(docEvalAnswers+"/"+string(run)+"/"+e.ID, evalTexts(all)); err != nil {
			return err
		}
		err = w.chunks(ctx, len(all), func(ctx context.Context, first int) error {
			body, err := w.evaluations(ctx, run, e.ID, first)
			if err != nil {
				return err
			}
			for _, d := range body {
				if err := w.writeImages(ctx, d); err != nil {
					return err
				}
			}

			return w.write(fmt.Sprintf("%s/%s/%s/%d", docEvaluations, run, e.ID, first), body)
		})
		if err != nil {
			return err
		}
	}

	return nil
}

// writeEpoch writes the list of an epoch's episodes, and their details if whole is set. Each episode is read once.
func (w writer) writeEpoch(ctx context.Context, run runs.Run, number int, whole bool) error {
	path := fmt.Sprintf("%s/%s/%d", docRows, run, number)
	if !whole {
		rows, err := w.epochRows(ctx, run, number)
		if err != nil {
			return err
		}

		return w.write(path, rows)
	}
	r, err := newEpoch(ctx, w.Bucket, run, number)
	if err != nil {
		return err
	}
	slots, err := r.begunSlots(ctx)
	if err != nil {
		return err
	}
	if len(slots) == 0 {
		return w.write(path, []row{})
	}
	rows := make([]row, slots[len(slots)-1]+1)       // by slot
	answers := make([]string, slots[len(slots)-1]+1) // as well
	err = w.chunks(ctx, len(rows)-1, func(ctx context.Context, first int) error {
		details := map[int]detail{}
		for slot := first; slot < min(first+chunk, len(rows)); slot++ {
			episode, begun, err := r.read(ctx, slot)
			if err != nil {
				return err
			}
			if !begun {
				continue
			}
			d, err := r.detail(ctx, episode)
			if err != nil {
				return err
			}
			if err := w.writeImages(ctx, d); err != nil {
				return err
			}
			rows[slot] = episode.row()
			answers[slot] = episode.answers()
			details[slot] = d
		}

		return w.write(fmt.Sprintf("%s/%s/%d/%d", docEpisodes, run, number, first), details)
	})
	if err != nil {
		return err
	}
	begun := []row{}
	said := map[int]string{}
	for slot, r := range rows {
		if r.Slot > 0 {
			begun = append(begun, r)
			said[slot] = answers[slot]
		}
	}
	if err := w.write(fmt.Sprintf("%s/%s/%d", docAnswers, run, number), said); err != nil {
		return err
	}

	return w.write(path, begun)
}

// writers is the number of chunks that are read and compressed concurrently.
const writers = 4

// chunks calls f with the number of the first episode in every chunk of n episodes.
func (w writer) chunks(ctx context.Context, n int, f func(ctx context.Context, first int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for first := 1; first <= n; first += chunk {
		group.Go(func() error { return f(ctx, first) })
	}

	return group.Wait()
}

// write writes a document.
func (w writer) write(path string, body any) error {
	text, err := packed(path, body)
	if err != nil {
		return err
	}
	if err := disk.Write(filepath.Join(w.folder, "data"), path+".js", text); err != nil {
		return fault.As(fault.Transient, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.progress(path)

	return nil
}
