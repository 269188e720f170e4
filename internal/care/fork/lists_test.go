package fork_test

import (
	"context"
	"slices"
	"testing"

	"github.com/collabui/collabui/internal/care/fork"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/test/kit/testrun"
	"github.com/collabui/collabui/workers/catalog"
)

// unlisted is a store whose LISTs show nothing.
type unlisted struct{ *store.Memory }

func (unlisted) List(context.Context, string) ([]store.Ref, error)      { return nil, nil }
func (unlisted) Folders(context.Context, string) ([]string, error)      { return nil, nil }
func (unlisted) Ages(_ context.Context, _ string) ([]store.Aged, error) { return nil, nil }

// TestAForkTakesWhatRecordsNameAndNotWhatAListShows forks in a store whose LISTs show everything, and in one whose
// LISTs show nothing.
func TestAForkTakesWhatRecordsNameAndNotWhatAListShows(t *testing.T) {
	t.Parallel()
	r, _ := testrun.Finished(t)
	credits, _, err := runs.Run("small").Credits(2, 1).Must(t.Context(), r.Bucket)
	if err != nil {
		t.Fatal(err)
	}
	other := runs.Relabel{Slot: 1, Step: 1, Agent: 1, Round: 1, Label: 1 - max(credits.Steps[0].Labels[0], 0)}
	for name, c := range map[string]struct {
		epoch int
		typed map[string]string
		cells []runs.Relabel
		least int // objects, besides eight that every fork has
	}{
		"unchanged":      {epoch: 2},
		"of-stage-1":     {epoch: 0, typed: map[string]string{"slots": "9"}, least: 9 * 4},
		"other-updates":  {epoch: 1, typed: map[string]string{"train.beta": "0.3"}, least: 2 + 10*4},
		"other-commits":  {epoch: 1, typed: map[string]string{"gates.max_val_drop": "0.9"}, least: 2 + 10*4 + 4*2 + 2},
		"other-pairs":    {epoch: 1, typed: map[string]string{"pairs.per_episode": "2"}, least: 2 + 10*3},
		"another-label":  {epoch: 1, cells: []runs.Relabel{other}, least: 2 + 10*4 - 2},
		"all-recomputed": {epoch: 1, typed: map[string]string{"quarantine": "[]", "focus": "{}"}},
	} {
		var made [2][]string
		for i, b := range []store.Bucket{r.Bucket, unlisted{r.Bucket}} {
			x := runs.Run([]string{"listed-", "unlisted-"}[i] + name)
			f, err := fork.Plan(t.Context(), b, fork.Request{
				Run: "small", Name: x, Epoch: c.epoch, Who: "ann", Typed: c.typed, Cells: c.cells,
			}, spec.Source{}, catalog.All{})
			if err == nil {
				err = f.Make(t.Context(), b, func(int) {})
			}
			if err != nil {
				t.Fatalf("%s: %v, want a fork", name, err)
			}
			keys, err := store.Keys(t.Context(), r.Bucket, x.Prefix())
			if err != nil {
				t.Fatal(err)
			}
			for _, key := range keys {
				made[i] = append(made[i], key[len(x.Prefix()):])
			}
		}
		if !slices.Equal(made[0], made[1]) || len(made[1]) < 8+c.least {
			t.Errorf("%s: without LISTs the fork has %d objects, with them %d: %v; want the same, at least %d", name,
				len(made[1]), len(made[0]), made[0], 8+c.least)
		}
	}
}
