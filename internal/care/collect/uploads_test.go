package collect_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/collabui/collabui/internal/care/collect"
	"github.com/collabui/collabui/internal/store"
)

// uploading is a store with uploads that have not ended.
type uploading struct {
	*store.Memory
	open []store.Upload
}

func (u *uploading) Uploads(context.Context) ([]store.Upload, error) {
	return slices.Clone(u.open), nil
}

func (u *uploading) Abort(_ context.Context, x store.Upload) error {
	u.open = slices.DeleteFunc(u.open, func(o store.Upload) bool { return o.ID == x.ID })

	return nil
}

// TestUploadsThatWereCutShortAreAborted expects that uploads that may still be in progress are left alone.
func TestUploadsThatWereCutShortAreAborted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &uploading{Memory: &store.Memory{}}
		for id, age := range map[string]time.Duration{"cut": grace + time.Minute, "sent": grace - time.Minute} {
			u.open = append(u.open, store.Upload{Key: "blobs/" + id, ID: id, Active: time.Now().Add(-age)})
		}
		for _, dry := range []bool{true, false} {
			left := map[bool]int{true: 2, false: 1}[dry]
			report, err := collect.Collect(t.Context(), u, collect.Policy{Grace: grace}, dry, func(int, int) {})
			if err != nil || report.Uploads != 1 || len(u.open) != left {
				t.Errorf("dry %v: %d uploads aborted, left %v, %v; want 1 and %d left", dry, report.Uploads,
					u.open, err, left)
			}
		}
		if len(u.open) != 1 || u.open[0].ID != "sent" {
			t.Errorf("left are %v, want the one that may still be sent", u.open)
		}
	})
}
