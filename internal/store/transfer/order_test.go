package transfer_test

import (
	"slices"
	"testing"

	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/internal/store/transfer"
	"github.com/collabui/collabui/internal/store/verify"
	"github.com/collabui/collabui/test/kit/testrun"
)

// TestACopyThatIsCutShortHasNoCommitWithoutItsParts copies a run again that has gone on, and cuts the copy short.
func TestACopyThatIsCutShortHasNoCommitWithoutItsParts(t *testing.T) {
	t.Parallel()
	r, _ := testrun.Finished(t)
	run := runs.Run("small")
	ends := []string{run.Base().Key, run.Epoch(1).Key, run.Epoch(2).Key, run.End().Key}
	keys, err := store.Keys(t.Context(), r.Bucket, run.Prefix())
	if err != nil {
		t.Fatal(err)
	}
	there := testrun.New(t, r.Spec).Bucket // has the specification
	for writes, cut := 1, true; cut; writes += 60 {
		_, err := transfer.Runs(t.Context(), r.Bucket, &testrun.Brittle{Bucket: there, Left: writes}, []string{"small"},
			quiet)
		cut = err != nil
		has, err := store.Keys(t.Context(), there, run.Prefix())
		if err != nil {
			t.Fatal(err)
		}
		report, err := verify.FsckRun(t.Context(), there, "small")
		for _, p := range report.Problems {
			if !store.IsBlob(p.Key) {
				t.Fatalf("fsck of half a copy: %s, %v; want every manifest that is named", p, err)
			}
		}
		for i, end := range ends {
			if !slices.Contains(has, end) {
				continue
			}
			for _, key := range keys {
				if !slices.Contains(ends[i:], key) && !slices.Contains(has, key) {
					t.Fatalf("the copy has %s and lacks %s, want everything before what ends a stage", end, key)
				}
			}
		}
	}
}
