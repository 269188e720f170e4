package collect_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/care/collect"
	"github.com/collabui/collabui/internal/care/fork"
	"github.com/collabui/collabui/internal/care/verify"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/lines"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/test/kit/testrun"
	"github.com/collabui/collabui/workers/catalog"
)

// grace is the grace period of all tests.
const grace = time.Hour

// finished returns a function that copies the store of the run small. Bubbles call it inside, because their time is
// another.
func finished(t *testing.T) func() *store.Memory {
	t.Helper()
	r, _ := testrun.Finished(t)

	return func() *store.Memory { return clone(t, r.Bucket) }
}

// clone copies a store. The copies count as written now.
func clone(t *testing.T, from store.Bucket) *store.Memory {
	t.Helper()
	to := &store.Memory{}
	all, err := from.List(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range all {
		raw, err := from.Get(t.Context(), o.Key)
		if err == nil {
			_, err = to.PutOnce(t.Context(), o.Key, raw)
		}
		if err != nil {
			t.Fatal(err)
		}
	}

	return to
}

// gc collects after the grace period has passed.
func gc(t *testing.T, b store.Keeper, p collect.Policy) collect.Report {
	t.Helper()
	time.Sleep(grace + time.Minute)
	p.Grace, p.Who = grace, "a test"
	report, err := collect.Collect(t.Context(), b, p, false, func(int, int) {})
	if err != nil {
		t.Fatal(err)
	}

	return report
}

// clean checks that fsck finds nothing, and returns its report.
func clean(t *testing.T, b store.Bucket) verify.Report {
	t.Helper()
	report, err := verify.Fsck(t.Context(), b)
	if err != nil || len(report.Problems) > 0 {
		t.Errorf("fsck found %v, %v; want no problems", report.Problems, err)
	}

	return report
}

func idle() (bool, error) { return false, nil }

// remove deletes a run.
func remove(t *testing.T, b store.Keeper, name string) error {
	t.Helper()

	return collect.Delete(t.Context(), b, runs.Run(name), runs.Decision{Who: "ann", Why: "old"}, idle)
}

// forked makes a fork of small.
func forked(t *testing.T, b store.Bucket, name string, typed map[string]string) {
	t.Helper()
	f, err := fork.Plan(t.Context(), b, fork.Request{
		Run: "small", Name: runs.Run(name), Epoch: 1, Who: "ann", At: time.Now(), Typed: typed,
	}, spec.Source{}, catalog.All{})
	if err == nil {
		err = f.Make(t.Context(), b, func(int) {})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// promote accepts a system of small.
func promote(t *testing.T, b store.Bucket, epoch int) {
	t.Helper()
	system, err := lines.Find(t.Context(), b, "small", epoch)
	if err == nil {
		_, err = lines.Line("mobile").Append(t.Context(), b, 0, lines.Entry{Verb: lines.Promote, System: system})
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestNothingOfALiveRunIsRemovedButCheckpoints(t *testing.T) {
	fresh := finished(t)
	synctest.Test(t, func(t *testing.T) {
		b := fresh()
		young, err := collect.Collect(t.Context(), b, collect.Policy{Grace: grace}, false, func(int, int) {})
		if err != nil || young.Removed.Objects+young.Trashed.Objects > 0 {
			t.Errorf("Collect of a young store = %+v, %v; want nothing removed", young, err)
		}
		report := gc(t, b, collect.Policy{})
		left, err := b.List(t.Context(), "runs/")
		if err != nil || report.Removed.Objects == 0 {
			t.Errorf("Collect = %+v, %v; want checkpoints removed", report, err)
		}
		for _, o := range left {
			if strings.Contains(o.Key, "-checkpoint-") {
				t.Errorf("%s is left, want checkpoints of training that has ended removed", o.Key)
			}
		}
		clean(t, b)
		for range 2 {
			gc(t, b, collect.Policy{})
		}
		if trash, err := b.List(t.Context(), store.TrashPrefix); err != nil || len(trash) > 0 {
			t.Errorf("the trash has %d objects, %v; want none after two more collections", len(trash), err)
		}
		if u := clean(t, b).Unreferenced; len(u) > 0 {
			t.Errorf("%v are unreferenced, want nothing", u)
		}
		if problems, err := verify.Run(t.Context(), b, "small"); err != nil || len(problems) > 0 {
			t.Errorf("the validators found %v, %v; want no problems", problems, err)
		}
	})
}

func TestADryRunSaysWhatARunDoes(t *testing.T) {
	fresh := finished(t)
	synctest.Test(t, func(t *testing.T) {
		b := fresh()
		if err := remove(t, b, "small"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * grace)
		before := clean(t, b)
		p := collect.Policy{Grace: grace, Epochs: 1, Calls: time.Minute}
		dry, err := collect.Collect(t.Context(), b, p, true, func(int, int) {})
		if err != nil {
			t.Fatal(err)
		}
		if after := clean(t, b); after.Objects != before.Objects {
			t.Errorf("a dry run left %d of %d objects, want all", after.Objects, before.Objects)
		}
		wet, err := collect.Collect(t.Context(), b, p, false, func(int, int) {})
		if err != nil || wet.Removed != dry.Removed || wet.Trashed != dry.Trashed {
			t.Errorf("Collect = %+v, %v; want what the dry run said, %+v", wet, err, dry)
		}
	})
}

// TestGCReportsWhatItDoesNotRemoveYet deletes a run, and collects before the grace period has passed.
func TestGCReportsWhatItDoesNotRemoveYet(t *testing.T) {
	fresh := finished(t)
	synctest.Test(t, func(t *testing.T) {
		b := fresh()
		if _, err := store.PutBlob(t.Context(), b, []byte("unused")); err != nil {
			t.Fatal(err)
		}
		if err := remove(t, b, "small"); err != nil {
			t.Fatal(err)
		}
		deleted := time.Now()
		time.Sleep(grace / 2)
		p := collect.Policy{Grace: grace, Who: "a test"}
		report, err := collect.Collect(t.Context(), b, p, false, func(int, int) {})
		if err != nil || len(report.Waiting) != 1 || report.Young.Objects != 1 || report.Removed.Objects > 0 {
			t.Fatalf("Collect = %+v, %v; want small waiting, a young blob, and nothing removed", report, err)
		}
		if got := report.Waiting[0]; got.Run != "small" || got.Objects == 0 || !got.After.Equal(deleted.Add(grace)) {
			t.Errorf("waiting is %+v, want the objects of small until %v", got, deleted.Add(grace))
		}
		if later := gc(t, b, collect.Policy{}); len(later.Waiting)+later.Young.Objects > 0 || len(later.Runs) != 1 {
			t.Errorf("after the grace period Collect = %+v, want small gone and nothing waiting", later)
		}
	})
}

func TestADeletedRunIsGoneAndItsNameIsFree(t *testing.T) {
	fresh := finished(t)
	synctest.Test(t, func(t *testing.T) {
		b := fresh()
		if err := remove(t, b, "small"); err != nil {
			t.Fatal(err)
		}
		if _, err := runs.Run("small").Find(t.Context(), b); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("Find of a deleted run = %v, want %v", err, store.ErrNotFound)
		}
		if names, err := runs.Names(t.Context(), b); err != nil || len(names) > 0 {
			t.Errorf("Names = %v, %v; want none", names, err)
		}
		report := gc(t, b, collect.Policy{})
		if len(report.Runs) != 1 {
			t.Errorf("Collect = %+v, want small gone", report)
		}
		for range 2 {
			gc(t, b, collect.Policy{})
		}
		for _, prefix := range []string{"runs/", store.BlobPrefix, store.TrashPrefix} {
			if left, err := b.List(t.Context(), prefix); err != nil || len(left) > 0 {
				t.Errorf("%v are left, %v; want nothing", left, err)
			}
		}
	})
}

func TestABlobComesBackFromTheTrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &store.Memory{}
		ref, err := store.PutBlob(t.Context(), b, []byte("a policy"))
		if err != nil {
			t.Fatal(err)
		}
		large, err := store.PutBlob(t.Context(), b, make([]byte, 2<<20)) // too large to refer to anything
		if err != nil {
			t.Fatal(err)
		}
		if report := gc(t, b, collect.Policy{}); report.Trashed.Objects != 2 {
			t.Fatalf("Collect = %+v, want the blobs in the trash", report)
		}
		p := collect.Policy{Grace: grace}
		if _, err := collect.Collect(t.Context(), b, p, false, func(int, int) {}); err != nil {
			t.Fatal(err)
		}
		note := runs.Object[[]store.Ref]{Key: "notes/a.json"} // a process that found the blobs refers to them now
		both := func() ([]store.Ref, error) { return []store.Ref{ref, large}, nil }
		if _, _, err := note.Record(t.Context(), b, both); err != nil {
			t.Fatal(err)
		}
		clean(t, b)
		gc(t, b, collect.Policy{})
		for range 3 {
			if body, err := b.Get(t.Context(), ref.Key); err != nil || string(body) != "a policy" {
				t.Errorf("the blob is %q, %v; want it in its place", body, err)
			}
			if body, err := b.Get(t.Context(), large.Key); err != nil || len(body) != 2<<20 {
				t.Errorf("the large blob has %d bytes, %v; want it in its place", len(body), err)
			}
			gc(t, b, collect.Policy{})
		}
	})
}

func TestADamagedManifestStopsTheCollection(t *testing.T) {
	fresh := finished(t)
	synctest.Test(t, func(t *testing.T) {
		b := fresh()
		b.Damage(runs.Run("small").Epoch(1).Key, []byte("{}"))
		time.Sleep(2 * grace)
		before, _ := b.List(context.Background(), runs.AllPrefix)
		_, err := collect.Collect(t.Context(), b, collect.Policy{Grace: grace}, false, func(int, int) {})
		after, _ := b.List(context.Background(), runs.AllPrefix)
		if fault.KindOf(err) != fault.Corrupt || len(after) != len(before) {
			t.Errorf("Collect = %v and left %d of %d objects, want a corrupt fault and all",
				err, len(after), len(before))
		}
	})
}
