package view

import (
	"context"
	"fmt"

	"github.com/collabui/collabui/internal/records/experiments"
	"github.com/collabui/collabui/internal/records/lines"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// experimentPage is the content of the page of an experiment: the newest version that has a result.
type experimentPage struct {
	Name     string                `json:"name"`
	Versions []experiments.Version `json:"versions"`
	Result   *experiments.Result   `json:"result,omitempty"`
	Runs     []string              `json:"runs"` // of its arms and seeds, as far as they exist
}

func (l *Library) experiment(ctx context.Context, name string) (experimentPage, error) {
	page := experimentPage{Name: name, Runs: []string{}}
	x := experiments.Experiment(name)
	var err error
	if page.Versions, err = x.Versions(ctx, l.Bucket); err != nil {
		return page, err
	}
	if len(page.Versions) == 0 {
		return page, fmt.Errorf("experiment %q: %w", name, store.ErrNotFound)
	}
	for n := len(page.Versions); n > 0 && page.Result == nil; n-- {
		result, tested, err := x.Result(n).May(ctx, l.Bucket)
		if err != nil {
			return page, err
		}
		if tested {
			page.Result = &result
		}
	}
	newest := page.Versions[len(page.Versions)-1].Experiment
	for _, arm := range newest.Arms {
		for seed := 1; seed <= newest.Seeds; seed++ {
			run := runs.Run(newest.Run(arm.Name, seed))
			exists, err := run.Spec().Exists(ctx, l.Bucket)
			if err != nil {
				return page, err
			}
			if exists {
				page.Runs = append(page.Runs, string(run))
			}
		}
	}

	return page, nil
}

// linePage is the content of the page of a line.
type linePage struct {
	Name    string        `json:"name"`
	Entries []lines.Entry `json:"entries"`
	Current int           `json:"current"` // number of the entry whose system is accepted, or 0
}

func (l *Library) line(ctx context.Context, name string) (linePage, error) {
	page := linePage{Name: name}
	var err error
	if page.Entries, err = lines.Line(name).History(ctx, l.Bucket, 0); err != nil {
		return page, err
	}
	if len(page.Entries) == 0 {
		return page, fmt.Errorf("line %q: %w", name, store.ErrNotFound)
	}
	now, _, _, err := lines.Line(name).Standing(ctx, l.Bucket)
	page.Current = now.Number

	return page, err
}
