package results

import (
	"fmt"
	"io"
	"testing"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/internal/care/collect"
	"github.com/collabui/collabui/internal/config"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/test/kit/listing"
)

// TestWhoLooksForRunsListsNoObjects lets everything that looks for runs, folders or slots do so.
func TestWhoLooksForRunsListsNoObjects(t *testing.T) {
	t.Parallel()
	memory := listing.ThreeRuns(t)
	a := &app.App{Data: t.TempDir(), Out: io.Discard, Err: io.Discard}
	ctx := t.Context()
	for _, c := range []struct {
		reader string
		do     func(b *listing.Counter) error
	}{
		{"the index of the viewer", func(b *listing.Counter) error {
			x, err := index(b)(ctx)
			if len(x.Runs) != 3 {
				t.Errorf("the index has the runs %q, want a, b and c", x.Runs)
			}

			return err
		}},
		{"the slots of an epoch in the viewer", func(b *listing.Counter) error {
			rows, err := libraryOf(a, b).Document(ctx, "rows/a/1")
			if got := fmt.Sprintf("%T", rows); err == nil && got != "[]view.row" {
				t.Errorf("the document is a %s, want the lines of an epoch", got)
			}

			return err
		}},
		{"runs", func(b *listing.Counter) error {
			return listRuns(ctx, a, b, config.Endpoints{}, false)
		}},
		{"delete", func(b *listing.Counter) error {
			b.Memory = listing.ThreeRuns(t)

			return collect.Delete(ctx, b, "a", runs.Decision{}, func() (bool, error) { return false, nil })
		}},
		{"the lineage of a run in the viewer", func(b *listing.Counter) error {
			_, err := libraryOf(a, b).Document(ctx, "run/b")

			return err
		}},
	} {
		b := &listing.Counter{Memory: memory}
		if err := c.do(b); err != nil {
			t.Errorf("%s: %v, want no error", c.reader, err)
		}
		b.Want(t, c.reader)
	}
}
