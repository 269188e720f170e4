package miniwob

import (
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/collabui/collabui/envadapters"
)

// short are official tasks that are solved in one or two steps, so an episode is mostly its load: the hardest case.
var short = []string{
	"click-test", "click-button", "click-link", "focus-text", "enter-text", "click-dialog", "click-checkboxes",
	"click-tab",
}

// BenchmarkOfficialPages plays episodes of short tasks by the expert in two browsers, loads included.
func BenchmarkOfficialPages(b *testing.B) {
	const browsers = 2
	s, err := New(envadapters.Options{Data: official(b)}, browsers, 1)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()

	var steps, failed atomic.Int64
	episode := func(i int) error {
		e, err := s.Open(b.Context())
		if err != nil {
			return err
		}
		defer e.Close(b.Context())

		task := s.task(short[i%len(short)], uint64(i/len(short)))
		tr, err := e.Reset(b.Context(), task)
		for err == nil && !tr.Terminated && !tr.Truncated {
			a, ok := e.(*environment).Advise()
			if !ok {
				break
			}
			tr, err = e.Step(b.Context(), a)
			steps.Add(1)
		}
		if tr.Reward != 1 {
			failed.Add(1)
		}

		return err
	}
	play := func(n int) {
		var g errgroup.Group
		g.SetLimit(browsers)
		for i := range n {
			g.Go(func() error { return episode(i) })
		}
		if err := g.Wait(); err != nil {
			b.Fatal(err)
		}
	}

	play(4 * len(short)) // The browsers start, and files are fetched.
	steps.Store(0)
	const episodes = 40
	for b.Loop() {
		play(episodes)
	}

	if failed.Load() > 0 {
		b.Errorf("%d episodes failed, want none", failed.Load())
	}
	b.ReportMetric(float64(steps.Load())/b.Elapsed().Seconds(), "steps/s")
	b.ReportMetric(float64(episodes*b.N)/b.Elapsed().Seconds(), "episodes/s")
}
