package view_test

import (
	"context"
	"path"
	"testing"
	"time"

	"github.com/collabui/collabui/internal/store"
)

// slow is a bucket that received each object a second and a half after the previous one, in the order of a run.
type slow struct{ *store.Memory }

func (s slow) Ages(ctx context.Context, prefix string) ([]store.Aged, error) {
	all, err := s.Memory.Ages(ctx, prefix)
	place := map[string]int{"start.json": 1, "0001.json": 2, "episode.json": 3, "credit.json": 4, "pairs.json": 5}
	for i := range all {
		n := place[path.Base(all[i].Key)]
		all[i].Written = time.Unix(1000, 0).Add(time.Duration(n) * 1500 * time.Millisecond)
	}

	return all, err
}

func TestPagesSayHowLongStepsLabelsAndPairsTook(t *testing.T) {
	var b store.Memory
	run := crafted(t, &b)
	x := newTab(t)
	for _, url := range forms(t, slow{&b}, string(run)) {
		x.open(url, "document.querySelector('h1')")
		for _, want := range []string{"(1.50 s)", "pairs (1.50 s)"} {
			x.page("#/episode/"+string(run)+"/1/1", want)
		}
	}
	x.quiet()
}
