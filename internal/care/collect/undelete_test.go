package collect_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/care/collect"
	"github.com/collabui/collabui/internal/care/hold"
	"github.com/collabui/collabui/internal/care/verify"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// versions is a store whose bucket keeps versions of deleted objects.
type versions struct {
	*store.Memory
	mu      *sync.Mutex
	deleted map[string][]store.Version // by key, the oldest first
	bodies  map[string][]byte
}

func (v versions) Delete(ctx context.Context, key string) error {
	body, err := v.Get(ctx, key)
	if err != nil {
		return nil
	}
	written, err := v.Written(ctx, key)
	if err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	id := fmt.Sprint(key, len(v.bodies))
	v.bodies[id] = body
	v.deleted[key] = append(v.deleted[key],
		store.Version{Aged: store.Aged{Ref: store.Ref{Key: key, Size: int64(len(body))}, Written: written}, ID: id},
		store.Version{Aged: store.Aged{Ref: store.Ref{Key: key}, Written: time.Now()}, Removed: true})

	return v.Memory.Delete(ctx, key)
}

func (v versions) Versions(ctx context.Context, prefix string) (out []store.Version, err error) {
	for _, key := range sortedKeys(v.deleted) {
		if !strings.HasPrefix(key, prefix) {
			continue
		}
		if written, err := v.Written(ctx, key); err == nil {
			out = append(out, store.Version{Aged: store.Aged{Ref: store.Ref{Key: key}, Written: written}, ID: "now"})
		}
		all := slices.Clone(v.deleted[key])
		slices.Reverse(all)
		out = append(out, all...)
	}

	return out, nil
}

func (v versions) Revive(_ context.Context, x store.Version) error {
	v.Damage(x.Key, v.bodies[x.ID])

	return nil
}

func sortedKeys[V any](m map[string]V) (out []string) {
	for key := range m {
		out = append(out, key)
	}
	slices.Sort(out)

	return out
}

func undelete(t *testing.T, b store.Keeper, name runs.Run) (collect.Recovery, error) {
	t.Helper()

	return collect.Undelete(t.Context(), b, name, runs.Decision{Who: "ann", Why: "needed"})
}

// TestADeletedRunComesBack restores a run at several times: until it has left the trash, and later from a bucket with
// versions.
func TestADeletedRunComesBack(t *testing.T) {
	fresh := finished(t)
	for collections := range 5 {
		for _, keeps := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				before := fresh()
				kept := versions{fresh(), &sync.Mutex{}, map[string][]store.Version{}, map[string][]byte{}}
				b := store.Keeper(kept)
				if !keeps {
					b = kept.Memory
				}
				if err := remove(t, b, "small"); err != nil {
					t.Fatal(err)
				}
				for range collections {
					gc(t, b, collect.Policy{})
				}
				recovery, err := undelete(t, b, "small")
				if collections > 2 && !keeps {
					if !errors.Is(err, store.ErrNotFound) {
						t.Errorf("after %d collections: Undelete = %v, want %v", collections, err, store.ErrNotFound)
					}
					return
				}
				if err != nil || len(recovery.Missing) > 0 {
					t.Fatalf("after %d collections: Undelete = %+v, %v; want nothing missing", collections, recovery,
						err)
				}
				if _, err := runs.Run("small").Find(t.Context(), b); err != nil {
					t.Errorf("after %d collections: Find = %v, want the run", collections, err)
				}
				for range 3 {
					gc(t, b, collect.Policy{})
				}
				whole(t, fmt.Sprintf("after %d collections", collections), kept.Memory, before)
				if problems, err := verify.Run(t.Context(), b, "small"); err != nil || len(problems) > 0 {
					t.Errorf("the validators found %v, %v; want no problems", problems, err)
				}
			})
		}
	}
}

// TestUndeleteIsRepeated cuts it short at some of its writes.
func TestUndeleteIsRefusedBesideACollection(t *testing.T) {
	fresh := finished(t)
	synctest.Test(t, func(t *testing.T) {
		b := fresh()
		if err := remove(t, b, "small"); err != nil {
			t.Fatal(err)
		}
		gc(t, b, collect.Policy{})
		before := list(t, b, runs.AllPrefix)
		err := hold.Do(t.Context(), b, "gc", func(context.Context, *hold.Lock) error {
			_, err := undelete(t, b, "small")

			return err
		})
		if fault.KindOf(err) != fault.Invalid || !slices.Equal(list(t, b, runs.AllPrefix), before) {
			t.Errorf("Undelete beside a collection = %v, want an invalid fault and nothing changed", err)
		}
	})
}

func TestUndeleteIsRepeated(t *testing.T) {
	fresh := finished(t)
	for _, after := range []int{1, 2, 30, 200, 374, 376, 378} {
		synctest.Test(t, func(t *testing.T) {
			b, before := fresh(), fresh()
			if err := remove(t, b, "small"); err != nil {
				t.Fatal(err)
			}
			gc(t, b, collect.Policy{})
			left := after
			cut := onPuts{b, func(key string) error {
				if left--; left < 0 && !strings.HasPrefix(key, "gc/") {
					return fault.New(fault.Transient, "the network is down")
				}

				return nil
			}}
			_, _ = undelete(t, cut, "small")
			if recovery, err := undelete(t, b, "small"); err != nil && fault.KindOf(err) != fault.Invalid ||
				len(recovery.Missing) > 0 {
				t.Errorf("cut short after %d writes, then Undelete = %+v, %v; want nothing missing", after, recovery,
					err)
			}
			whole(t, fmt.Sprintf("cut short after %d writes", after), b, before)
		})
	}
}

// onPuts is a store that calls a function before it writes.
type onPuts struct {
	*store.Memory
	may func(key string) error
}

func (o onPuts) PutOnce(ctx context.Context, key string, body []byte) (bool, error) {
	if err := o.may(key); err != nil {
		return false, err
	}

	return o.Memory.PutOnce(ctx, key, body)
}

// TestARunOfTheSameNameIsNotMixedWithADeletedOne restores the right one of two runs.
func TestARunOfTheSameNameIsNotMixedWithADeletedOne(t *testing.T) {
	fresh := finished(t)
	for _, keeps := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			kept := versions{fresh(), &sync.Mutex{}, map[string][]store.Version{}, map[string][]byte{}}
			b := store.Keeper(kept)
			if !keeps {
				b = kept.Memory
			}
			run := runs.Run("small")
			if err := remove(t, b, "small"); err != nil {
				t.Fatal(err)
			}
			gc(t, b, collect.Policy{})
			second := spec.Default()
			second.Name, second.Seed = "small", 77
			if _, _, _, err := run.Spec().Write(t.Context(), b, second); err != nil {
				t.Fatal(err)
			}
			if _, err := undelete(t, b, "small"); fault.KindOf(err) != fault.Invalid {
				t.Errorf("Undelete beside a new run = %v, want it refused", err)
			}
			if _, err := collect.Recover(t.Context(), b, "ann", "small", nil); err != nil {
				t.Errorf("Recover of the new run = %v, want no error", err)
			}
			if err := remove(t, b, "small"); err != nil {
				t.Fatal(err)
			}
			gc(t, b, collect.Policy{})
			if _, err := undelete(t, b, "small"); err != nil {
				t.Errorf("Undelete = %v, want the second run", err)
			}
			s, _, err := run.Spec().Must(t.Context(), b)
			if left := list(t, b, run.Prefix()); err != nil || s.Seed != 77 || len(left) != 1 {
				t.Errorf("the run has the seed %d and %d objects, %v; want the second run alone", s.Seed, len(left),
					err)
			}
		})
	}
}

// TestWhatFsckMissesComesBack removes objects of a bucket with versions by hand.
func TestWhatFsckMissesComesBack(t *testing.T) {
	fresh := finished(t)
	synctest.Test(t, func(t *testing.T) {
		before := fresh()
		b := versions{fresh(), &sync.Mutex{}, map[string][]store.Version{}, map[string][]byte{}}
		run := runs.Run("small")
		for i, o := range list(t, b, "") {
			if o.Key == run.Spec().Key { // a run without a specification counts as deleted, and Undelete restores it
				continue
			}
			if i%5 == 0 || o.Key == run.End().Key {
				if err := b.Delete(t.Context(), o.Key); err != nil {
					t.Fatal(err)
				}
			}
		}
		report, err := verify.Fsck(t.Context(), b)
		if err != nil || len(report.Missing) == 0 {
			t.Fatalf("fsck misses %d objects, %v; want some", len(report.Missing), err)
		}
		if _, err := collect.Recover(t.Context(), b, "ann", "", report.Missing); err != nil {
			t.Errorf("Recover = %v, want no error", err)
		}
		clean(t, b)
		recovery, err := collect.Recover(t.Context(), b, "ann", "small", nil)
		if err != nil || len(recovery.Missing) > 0 {
			t.Errorf("Recover of the run = %+v, %v; want nothing missing", recovery, err)
		}
		whole(t, "the run", b.Memory, before)
		for _, o := range list(t, before, store.BlobPrefix) {
			want, _ := before.Get(t.Context(), o.Key)
			if got, err := b.Get(t.Context(), o.Key); err == nil && !bytes.Equal(got, want) {
				t.Errorf("%s has other bytes, want those of the version", o.Key)
			}
		}
	})
}

// TestUnusuallyMuchIsNotRemoved covers objects that a LIST shows as garbage.
func TestUnusuallyMuchIsNotRemoved(t *testing.T) {
	fresh := finished(t)
	synctest.Test(t, func(t *testing.T) {
		b := fresh()
		for i := range 30 {
			body := fmt.Appendf(nil, "of a run that no LIST shows: %d", i)
			if _, err := store.PutBlob(t.Context(), b, body); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(2 * grace)
		p := collect.Policy{Grace: grace}
		dry, err := collect.Collect(t.Context(), b, p, true, func(int, int) {})
		if err != nil || dry.Unexplained != 30 {
			t.Errorf("the dry run = %+v, %v; want 30 blobs unexplained", dry, err)
		}
		_, err = collect.Collect(t.Context(), b, p, false, func(int, int) {})
		if left := list(t, b, store.BlobPrefix); fault.KindOf(err) != fault.Invalid || len(left) < 30 {
			t.Errorf("Collect = %v and left %d blobs, want it refused", err, len(left))
		}
		p.Force = true
		report, err := collect.Collect(t.Context(), b, p, false, func(int, int) {})
		if err != nil || report.Unexplained != 30 {
			t.Errorf("Collect by force = %+v, %v; want 30 blobs removed", report, err)
		}
		if err := remove(t, b, "small"); err != nil {
			t.Fatal(err)
		}
		if gone := gc(t, b, collect.Policy{}); gone.Unexplained > 0 || len(gone.Runs) != 1 {
			t.Errorf("Collect after a deletion = %+v, want all of it explained", gone)
		}
	})
}
