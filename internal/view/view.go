// Package view shows people the contents of the store: documents about runs, episodes, evaluations, experiments and
// lines, and the pages that draw them. A report is a folder of both that needs no server; the viewer serves the same
// live.
package view

import (
	"context"
	"embed"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// Library makes documents from a store. Its methods may be called concurrently.
type Library struct {
	Bucket  store.Bucket
	Catalog spec.Catalog

	// Status returns the output of `show RUN --json`, so that pages have the same figures.
	Status func(ctx context.Context, run string) (any, error)

	// States returns what Temporal knows about runs that have not finished, by name. It may be nil.
	States func(ctx context.Context, runs []string) map[string]RunState

	// Chunk is the number of episodes in one document.
	Chunk int

	rows rowCache
}

// The kinds of documents, and the form of the path after each.
const (
	docIndex       = "index"       // the names of everything
	docHome        = "home"        // the first page
	docCosts       = "costs"       // what runs cost, for the first page
	docRun         = "run"         // NAME
	docRows        = "rows"        // NAME/EPOCH: a line about every episode of an epoch
	docAnswers     = "answers"     // NAME/EPOCH: what agents answered in every episode, for searching
	docEpisodes    = "episodes"    // NAME/EPOCH/SLOT: some episodes, from a slot on
	docEvalRows    = "evalrows"    // NAME/FOLDER/SYSTEM/SPLIT
	docEvalAnswers = "evalanswers" // NAME/FOLDER/SYSTEM/SPLIT: what agents answered in every episode, for searching
	docEvaluations = "evaluations" // NAME/FOLDER/SYSTEM/SPLIT/N: some evaluated episodes, from episode N on
	docExperiment  = "experiment"  // NAME
	docLine        = "line"        // NAME
)

// Document returns the document of a path, such as run/quickstart. The error wraps store.ErrNotFound if the store has
// nothing about it.
func (l *Library) Document(ctx context.Context, place string) (any, error) {
	kind, rest, _ := strings.Cut(place, "/")
	name, below, _ := strings.Cut(rest, "/")
	run := runs.Run(name)
	switch kind {
	case docRun:
		return l.run(ctx, run)
	case docRows, docAnswers, docEpisodes:
		n, err := numbers(below)
		if err != nil {
			return nil, err
		}
		if kind == docRows && len(n) == 1 {
			return l.epochRows(ctx, run, n[0])
		}
		if kind == docAnswers && len(n) == 1 {
			return l.epochAnswers(ctx, run, n[0])
		}
		if kind == docEpisodes && len(n) == 2 {
			return l.episodes(ctx, run, n[0], n[1])
		}
	case docEvalRows:
		all, err := l.evalAll(ctx, run, below)

		return evalRows(all), err
	case docEvalAnswers:
		all, err := l.evalAll(ctx, run, below)

		return evalTexts(all), err
	case docEvaluations:
		n, err := numbers(path.Base(below))
		if err != nil {
			return nil, err
		}

		return l.evaluations(ctx, run, path.Dir(below), n[0])
	case docExperiment:
		return l.experiment(ctx, name)
	case docLine:
		return l.line(ctx, name)
	}

	return nil, fault.New(fault.Invalid, "there is no document %q: %w", place, store.ErrNotFound)
}

// numbers parses numbers from 0 that are separated by slashes.
func numbers(list string) (out []int, err error) {
	for _, p := range strings.Split(list, "/") {
		n, err := strconv.Atoi(p)
		if err != nil || n < 0 {
			return nil, fault.New(fault.Invalid, "%q: expected a number", p)
		}
		out = append(out, n)
	}

	return out, nil
}

//go:embed site
var embedded embed.FS

// site returns the pages: HTML, style, scripts and their licences.
func site() fs.FS {
	sub, err := fs.Sub(embedded, "site")
	if err != nil {
		panic(err) // the folder is embedded
	}

	return sub
}
