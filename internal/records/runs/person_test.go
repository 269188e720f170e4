package runs_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// record writes an object of a run.
func record[T any](t *testing.T, b store.Bucket, o runs.Object[T], v T) {
	t.Helper()
	if _, _, err := o.Record(t.Context(), b, func() (T, error) { return v, nil }); err != nil {
		t.Fatal(err)
	}
}

// failing returns a run whose epoch 1 has three slots, the first two of which have failed.
func failing(t *testing.T) (runs.Run, store.Bucket) {
	t.Helper()
	r, b := runs.Run("r"), &store.Memory{}
	slots := []domain.Slot{{Epoch: 1, Number: 1}, {Epoch: 1, Number: 2}, {Epoch: 1, Number: 3}}
	system := runs.System{Policies: []runs.Policy{{Digest: "d"}}}
	record(t, b, r.Slots(1), runs.Slots{Epoch: 1, System: system, Slots: slots})
	record(t, b, r.Topology(1), domain.Topology{})
	record(t, b, r.Attempt(1, 1, 1), runs.Episode{Slot: slots[0], Attempt: 1, Failed: "the page is gone"})
	record(t, b, r.Attempt(1, 2, 1), runs.Episode{Slot: slots[1], Attempt: 1, Void: "the browser died"})
	record(t, b, r.Attempt(1, 2, 2), runs.Episode{Slot: slots[1], Attempt: 2, Failed: "the page is gone"})
	record(t, b, r.Attempt(1, 3, 1), runs.Episode{Slot: slots[2], Attempt: 1})

	return r, b
}

var decision = runs.Decision{Who: "ann", Why: "it never works"}

func TestRetriedSlotsCanBeLeftOut(t *testing.T) {
	r, b := failing(t)
	for _, want := range [][]int{{1, 2}, nil} { // they have begun again
		if got, err := r.Retry(t.Context(), b, 1); err != nil || !slices.Equal(got, want) {
			t.Fatalf("Retry() = %v, %v, want slots %v", got, err, want)
		}
	}
	record(t, b, r.Attempt(1, 2, 3), runs.Episode{Attempt: 3, Void: "the browser died"})
	for range 2 {
		if err := r.Skip(t.Context(), b, 1, 2, decision); err != nil {
			t.Fatal(err)
		}
	}

	e, _, err := r.Episode(t.Context(), b, 1, 2)
	if err != nil || e.Attempt != 4 || !strings.Contains(e.Failed, "ann: it never works") {
		t.Errorf("slot 2 ended with %+v, %v, want attempt 4, left out by ann", e, err)
	}
	if got, err := r.Retry(t.Context(), b, 1); err != nil || len(got) != 0 {
		t.Errorf("Retry() = %v, %v, want no slot: one begins anew already, one was left out", got, err)
	}
}

func TestWhatAgentsWereTrainedOnIsNotRetried(t *testing.T) {
	r, b := failing(t)
	record(t, b, r.Dataset(1, 0), runs.Dataset{})
	if got, err := r.Retry(t.Context(), b, 1); fault.KindOf(err) != fault.Invalid {
		t.Errorf("Retry() = %v, %v, want an invalid fault", got, err)
	}
}

func TestASlotThatHasAnEpisodeIsNotLeftOut(t *testing.T) {
	r, b := failing(t)
	for _, slot := range []int{0, 3, 4} {
		if err := r.Skip(t.Context(), b, 1, slot, decision); err == nil || fault.KindOf(err) != fault.Invalid {
			t.Errorf("Skip(slot %d) = %v, want an invalid fault", slot, err)
		}
	}
	if err := r.Skip(t.Context(), b, 2, 1, decision); err == nil || fault.KindOf(err) != fault.Invalid {
		t.Errorf("Skip(epoch 2) = %v, want an invalid fault", err)
	}
}
