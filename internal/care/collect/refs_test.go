package collect_test

import (
	"context"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/collabui/collabui/internal/care/collect"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// reading counts the manifests of a run that are read.
type reading struct {
	*store.Memory
	mu   sync.Mutex
	keys map[string]bool
}

func (r *reading) Get(ctx context.Context, key string) ([]byte, error) {
	if strings.HasPrefix(key, runs.Run("small").Prefix()) {
		r.mu.Lock()
		r.keys[key] = true
		r.mu.Unlock()
	}

	return r.Memory.Get(ctx, key)
}

// TestTheManifestsOfAnEndedRunAreReadOnce collects every night.
func TestTheManifestsOfAnEndedRunAreReadOnce(t *testing.T) {
	fresh := finished(t)
	synctest.Test(t, func(t *testing.T) {
		b := &reading{Memory: fresh()}
		var read []int
		night := func() {
			b.keys = map[string]bool{}
			gc(t, b, collect.Policy{})
			read = append(read, len(b.keys))
		}
		night()
		night()
		later, _, err := runs.Run("small").End().Must(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.PutOnce(t.Context(), runs.Run("small").Prefix()+"evals/later.json", seal(t, later)); err != nil {
			t.Fatal(err)
		}
		night()
		if read[0] < 50 || read[1] > 3 || read[2] != read[1]+1 {
			t.Errorf("%d manifests were read, want all of them in the first night, then at most 3, and one more when "+
				"there is a new one", read)
		}
		clean(t, b.Memory)

		restored := clone(t, b.Memory) // it has the same objects, written at another time
		b.Memory, b.keys = restored, map[string]bool{}
		if night(); read[3] < read[0]/2 { // the signs of processes are gone
			t.Errorf("%d manifests of a restored run were read, want most of %d", read[3], read[0])
		}
	})
}

// TestWhatACollectionRemembersChangesNothing compares the removed objects with and without the findings of earlier
// collections.
func TestWhatACollectionRemembersChangesNothing(t *testing.T) {
	fresh := finished(t)
	synctest.Test(t, func(t *testing.T) {
		play := func(p collect.Policy, forget bool) (collect.Report, []store.Ref) {
			b := fresh()
			gc(t, b, collect.Policy{})
			known := list(t, b, "gc/refs/")
			if len(known) != 1 {
				t.Fatalf("a collection leaves %v, want one object for the run", known)
			}
			if forget {
				b.Damage(known[0].Key, nil)
			}
			report := gc(t, b, p)
			report.Objects, report.Bytes = 0, 0 // they include the stored findings

			return report, list(t, b, "runs/")
		}
		for _, p := range []collect.Policy{{}, {Epochs: 1, Force: true}, {Calls: time.Hour, Force: true}} {
			want, all := play(p, true)
			got, left := play(p, false)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("a collection with %+v reports\n%+v, want\n%+v", p, got, want)
			}
			if !reflect.DeepEqual(left, all) {
				t.Errorf("a collection with %+v leaves %d objects of runs, want %d", p, len(left), len(all))
			}
		}
	})
}

func seal(t *testing.T, v any) []byte {
	t.Helper()
	raw, err := store.Seal(v)
	if err != nil {
		t.Fatal(err)
	}

	return raw
}
