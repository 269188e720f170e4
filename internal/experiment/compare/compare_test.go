package compare_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/experiment/compare"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
)

// evaluated records a run whose system of epoch 0 played a split; each letter is an episode: right, wrong, void, or
// another task.
func evaluated(t *testing.T, b store.Bucket, name, split, episodes string) compare.Subject {
	t.Helper()
	s := spec.Default()
	s.Name = name
	given := func() (spec.Spec, error) { return s, nil }
	if _, _, err := runs.Run(name).Spec().Record(t.Context(), b, given); err != nil {
		t.Fatal(err)
	}
	for i, letter := range episodes {
		e := runs.EvalEpisode{Task: domain.Task{Template: fmt.Sprint(i)}}
		switch letter {
		case 'r':
			e.Outcome.Success = true
		case 'v':
			e.Outcome.Void = "broken"
		case 'o':
			e.Task.Template = "other"
		}
		id := rules.EvalID(rules.EpochFolder(0), rules.BaseName(s.Agents), split)
		_, _, err := runs.Run(name).EvalEpisode(id, i+1).Record(t.Context(), b, func() (runs.EvalEpisode, error) {
			return e, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	x, err := compare.Find(t.Context(), b, name)
	if err != nil {
		t.Fatal(err)
	}

	return x
}

func TestOnlyTheSameEpisodesAreCompared(t *testing.T) {
	t.Parallel()
	b := &store.Memory{}
	x := evaluated(t, b, "x", "val", "rrwwvror")
	y := evaluated(t, b, "y", "val", "rwrwrvr") // one episode fewer
	evaluated(t, b, "y", "test-seeds", "rr")

	got, err := compare.Paired(t.Context(), b, x, y)
	if err != nil || len(got) != 1 {
		t.Fatalf("Paired = %+v, %v; want val alone", got, err)
	}
	d := got[0]
	if d.Split != "val" || d.Episodes != 4 || d.OnlyA != 1 || d.OnlyB != 1 || d.Mean != 0 || d.Low >= 0 || d.High <= 0 {
		t.Errorf("the difference = %+v, want 4 episodes, one only right for each, and an interval around 0", d)
	}

	if _, err := compare.Find(t.Context(), b, "none"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Find of a missing run = %v, want %v", err, store.ErrNotFound)
	}
}
