package transfer_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/care/transfer"
	"github.com/collabui/collabui/internal/care/verify"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/test/kit/testrun"
)

// TestACopyThatIsCutShortHasNoCommitWithoutItsParts copies a run again that has continued, and cuts the copy short.
func TestACopyThatIsCutShortHasNoCommitWithoutItsParts(t *testing.T) {
	t.Parallel()
	r, _ := testrun.Finished(t)
	run := runs.Run("small")
	ends := []string{run.Base().Key, run.Epoch(1).Key, run.Epoch(2).Key, run.End().Key}
	keys, err := store.Keys(t.Context(), r.Bucket, run.Prefix())
	if err != nil {
		t.Fatal(err)
	}
	to := testrun.New(t, r.Spec).Bucket // has the specification
	for writes, cut := 1, true; cut; writes += 60 {
		_, err := transfer.Runs(t.Context(), r.Bucket, &testrun.Brittle{Bucket: to, Left: writes}, []string{"small"},
			quiet)
		cut = err != nil
		has, err := store.Keys(t.Context(), to, run.Prefix())
		if err != nil {
			t.Fatal(err)
		}
		report, err := verify.FsckRun(t.Context(), to, "small")
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

// TestACopyIsNotWholeWithHalfOfAnotherState cuts a copy short, resets the original to its beginning, and copies it
// again.
func TestACopyIsNotWholeWithHalfOfAnotherState(t *testing.T) {
	t.Parallel()
	r, _ := testrun.Finished(t)
	names := []string{"small"}
	older, half, whole := &store.Memory{}, &store.Memory{}, &store.Memory{}
	spec := runs.Run("small").Spec().Key
	raw, err := r.Bucket.Get(t.Context(), spec)
	if err == nil {
		_, err = older.PutOnce(t.Context(), spec, raw)
	}
	if err == nil {
		_, err = transfer.Runs(t.Context(), r.Bucket, whole, names, quiet)
	}
	if err != nil {
		t.Fatal(err)
	}
	_, _ = transfer.Runs(t.Context(), r.Bucket, &testrun.Brittle{Bucket: half, Left: 100}, names, quiet)

	if _, err := transfer.Runs(t.Context(), older, whole, names, quiet); err != nil {
		t.Errorf("copying an older state to a whole copy of a newer one: got %v, want no error", err)
	}
	for what, copies := range map[string]func() error{
		"a run": func() error { _, err := transfer.Runs(t.Context(), older, half, names, quiet); return err },
		"all":   func() error { _, err := transfer.All(t.Context(), older, half, quiet); return err },
	} {
		if err := copies(); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "another state") {
			t.Errorf("copying %s to half of another state: got %v, want an invalid fault that says so", what, err)
		}
	}
}
