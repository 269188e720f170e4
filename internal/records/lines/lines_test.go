package lines_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/care/verify"
	"github.com/collabui/collabui/internal/records/lines"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/test/kit/testrun"
)

const mobile = lines.Line("mobile")

// add appends an entry about a system of the run small.
func add(t *testing.T, b store.Bucket, after int, verb lines.Verb, epoch int) lines.Entry {
	t.Helper()
	s, err := lines.Find(t.Context(), b, "small", epoch)
	if err != nil {
		t.Fatal(err)
	}
	e := lines.Entry{Verb: verb, System: s, Who: "ann"}
	if err := e.Measured(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if e, err = mobile.Append(t.Context(), b, after, e); err != nil {
		t.Fatal(err)
	}

	return e
}

// wantCurrent checks which system a line accepts.
func wantCurrent(t *testing.T, b store.Bucket, number, epoch int) {
	t.Helper()
	e, err := mobile.Current(t.Context(), b)
	if err != nil || e.Number != number || e.System.Epoch != epoch {
		t.Errorf("Current = entry %d of epoch %d, %v; want %d and %d", e.Number, e.System.Epoch, err, number, epoch)
	}
}

func TestALineAcceptsExactlyOneSystem(t *testing.T) {
	t.Parallel()
	r, end := testrun.Finished(t)
	b := r.Bucket
	if _, err := mobile.Current(t.Context(), b); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Current of a new line = %v, want %v", err, store.ErrNotFound)
	}

	add(t, b, 0, lines.Promote, 0)
	best := add(t, b, 1, lines.Promote, -1)
	if best.System.Epoch != end.Best || len(best.Results) == 0 || best.Evidence == nil {
		t.Errorf("the best system is entered as %+v, want epoch %d with its results", best, end.Best)
	}
	add(t, b, 2, lines.Reject, 1)
	wantCurrent(t, b, 2, end.Best)

	for to, want := range map[int]int{0: 0, 1: 0, 2: end.Best} {
		e, after, err := mobile.Back(t.Context(), b, to)
		if err != nil || after != 3 || e.System.Epoch != want || e.Verb != lines.Rollback {
			t.Errorf("Back to %d = %+v after %d, %v; want epoch %d after 3", to, e, after, err, want)
		}
	}
	if _, _, err := mobile.Back(t.Context(), b, 3); fault.KindOf(err) != fault.Invalid {
		t.Errorf("Back to a rejected system = %v, want an invalid fault", err)
	}
	back, after, err := mobile.Back(t.Context(), b, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := mobile.Append(t.Context(), b, after, back); err != nil {
		t.Fatal(err)
	}
	wantCurrent(t, b, 4, 0)

	report, err := verify.Fsck(t.Context(), b)
	if err != nil || len(report.Problems)+len(report.Unreferenced) > 0 {
		t.Errorf("fsck = %+v, %v; want no problems", report, err)
	}
	if names, err := lines.Names(t.Context(), b); err != nil || len(names) != 1 || names[0] != "mobile" {
		t.Errorf("Names = %v, %v; want mobile", names, err)
	}
}

func TestOfTwoPeopleOneIsToldWhatTheOtherDid(t *testing.T) {
	t.Parallel()
	b := &store.Memory{}
	entries := []lines.Entry{
		{Verb: lines.Promote, System: lines.SystemRef{Run: "r", Epoch: 1}, Who: "ann", Why: "it is faster"},
		{Verb: lines.Reject, System: lines.SystemRef{Run: "r", Epoch: 2}, Who: "ben", Why: "it fails on forms"},
	}
	want := []string{
		"ann has changed line mobile meanwhile: promote of r@1, because it is faster;",
		"ben has changed line mobile meanwhile: reject of r@2, because it fails on forms;",
	}
	for round := range 50 {
		var got [2]lines.Entry
		var failed [2]error
		var both sync.WaitGroup
		for i, e := range entries {
			both.Go(func() { got[i], failed[i] = mobile.Append(t.Context(), b, round, e) })
		}
		both.Wait()
		won := 0
		if failed[0] != nil {
			won = 1
		}
		err := failed[1-won]
		if failed[won] != nil || fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), want[won]) {
			t.Fatalf("round %d: %v, want one of two people told %q", round, failed, want)
		}
		kept, _, err := mobile.Entry(round+1).Must(t.Context(), b)
		if err != nil || kept.Who != entries[won].Who || kept.Why != entries[won].Why || got[1-won].Who != kept.Who {
			t.Fatalf("round %d: the line has %+v, %v, and the other was given %+v; want the entry of %s for both",
				round, kept, err, got[1-won], entries[won].Who)
		}
	}
	if _, err := mobile.Append(t.Context(), b, 60, lines.Entry{}); !errors.Is(err, store.ErrAbsent) {
		t.Errorf("an entry after one that does not exist = %v, want %v", err, store.ErrAbsent)
	}
	_, err := lines.Line("../x").Append(t.Context(), b, 0, lines.Entry{})
	if fault.KindOf(err) != fault.Invalid {
		t.Errorf("a line ../x = %v, want an invalid fault", err)
	}
}

func TestASystemThatDoesNotExistIsNotFound(t *testing.T) {
	t.Parallel()
	r, _ := testrun.Finished(t)
	if _, err := lines.Find(t.Context(), r.Bucket, "small", 9); fault.KindOf(err) != fault.Invalid {
		t.Errorf("Find of epoch 9 = %v, want an invalid fault", err)
	}
	if _, err := lines.Find(t.Context(), r.Bucket, "none", -1); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Find of a missing run = %v, want %v", err, store.ErrNotFound)
	}
	s, err := lines.Find(t.Context(), r.Bucket, "small", 0)
	base, _, found := runs.Run("small").Base().Must(t.Context(), r.Bucket)
	if err != nil || found != nil || len(s.Policies) != r.Spec.Agents || s.Policies[0] != base.Policy {
		t.Errorf("Find of epoch 0 = %+v, %v; want the base policy %d times", s, err, r.Spec.Agents)
	}
}

// read counts reads.
type read struct {
	store.Bucket
	gets int
}

func (r *read) Get(ctx context.Context, key string) ([]byte, error) {
	r.gets++

	return r.Bucket.Get(ctx, key)
}

func TestTheAcceptedSystemOfALongLineIsFoundWithFewReads(t *testing.T) {
	t.Parallel()
	b := &read{Bucket: &store.Memory{}}
	for n := range 400 {
		e := lines.Entry{Verb: lines.Promote, System: lines.SystemRef{Run: "r", Epoch: n}, Who: "schedule nightly"}
		if n%10 > 0 {
			e.Verb = lines.Reject
		}
		if _, err := mobile.Append(t.Context(), b, n, e); err != nil {
			t.Fatal(err)
		}
	}
	b.gets = 0
	e, later, accepts, err := mobile.Standing(t.Context(), b)
	if err != nil || !accepts || e.System.Epoch != 390 || len(later) != 9 || later[0].Number != 392 || b.gets > 30 {
		t.Errorf("Standing = epoch %d with %d later entries, %v, by %d reads; want 390 with 9 by at most 30",
			e.System.Epoch, len(later), err, b.gets)
	}
}
