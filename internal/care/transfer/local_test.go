package transfer_test

import (
	"testing"

	"github.com/collabui/collabui/internal/care/transfer"
	"github.com/collabui/collabui/internal/records/lines"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/test/kit/testrun"
)

// TestACopyLeavesBehindWhatCountsInItsStoreOnly copies between stores that each have claims and promotions of the run.
func TestACopyLeavesBehindWhatCountsInItsStoreOnly(t *testing.T) {
	t.Parallel()
	r, _ := testrun.Finished(t)
	run, to := runs.Run("small"), &store.Memory{}
	system, err := lines.Find(t.Context(), r.Bucket, "small", 1)
	if err != nil {
		t.Fatal(err)
	}
	for i, b := range []*store.Memory{r.Bucket, to} {
		where := []string{"here", "there"}[i]
		if i > 0 {
			if _, err := transfer.Runs(t.Context(), r.Bucket, to, []string{"small"}, quiet); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := run.Take(t.Context(), b, runs.Claim{Namespace: where, Store: where}); err != nil {
			t.Fatal(err)
		}
		entry := lines.Entry{Verb: lines.Promote, System: system}
		if _, err := lines.Line(where).Append(t.Context(), b, 0, entry); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := transfer.Runs(t.Context(), r.Bucket, to, []string{"small"}, quiet); err != nil {
		t.Errorf("the second copy = %v, want no error", err)
	}
	if c, n, err := run.Claimed(t.Context(), to, 0); err != nil || n != 1 || c.Namespace != "there" {
		t.Errorf("the copy has %d claims, of %q, %v; want its own alone", n, c.Namespace, err)
	}
}
