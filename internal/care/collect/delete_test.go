package collect_test

import (
	"context"
	"errors"
	"slices"
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

func TestWhatSomethingNeedsIsNotDeleted(t *testing.T) {
	fresh := finished(t)
	based := func(t *testing.T, b store.Bucket) {
		base, _, err := runs.Run("small").Base().Must(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		s := testrun.Tiny()
		s.Name, s.FineTune.Base = "other", base.Policy.Digest
		given := func() (spec.Spec, error) { return s, nil }
		if _, _, err := runs.Run("other").Spec().Record(t.Context(), b, given); err != nil {
			t.Fatal(err)
		}
	}
	for want, prepare := range map[string]func(*testing.T, store.Bucket){
		"entry 1 of line mobile accepts small@1": func(t *testing.T, b store.Bucket) { promote(t, b, 1) },
		"run longer is a fork of it":             func(t *testing.T, b store.Bucket) { forked(t, b, "longer", nil) },
		"run other began with a policy of it":    based,
	} {
		b := fresh()
		prepare(t, b)
		err := remove(t, b, "small")
		if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("Delete = %v, want an invalid fault with %q", err, want)
		}
		if _, err := runs.Run("small").Find(t.Context(), b); err != nil {
			t.Errorf("Find after a refused deletion = %v, want the run", err)
		}
	}

	b, checks := fresh(), 0
	running := func() (bool, error) { checks++; return checks > 1, nil } // it begins after the first look
	err := collect.Delete(t.Context(), b, "small", runs.Decision{}, running)
	if _, found := runs.Run("small").Find(t.Context(), b); fault.KindOf(err) != fault.Invalid || found != nil {
		t.Errorf("Delete of a run that has just begun = %v, and Find = %v; want it refused", err, found)
	}
}

// TestAForkOfADeletedRunKeepsWhatItNeeds expects that such a deletion is refused, and that nothing is lost if one took
// place all the same.
func TestAForkOfADeletedRunKeepsWhatItNeeds(t *testing.T) {
	fresh := finished(t)
	synctest.Test(t, func(t *testing.T) {
		b := fresh()
		forked(t, b, "longer", nil)
		mark := func() (runs.Decision, error) { return runs.Decision{Who: "ann"}, nil }
		if _, _, err := runs.Run("small").Deleted().Record(t.Context(), b, mark); err != nil {
			t.Fatal(err)
		}
		spec, err := b.Get(t.Context(), runs.Run("longer").Spec().Key)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * grace)
		half := clone(t, b) // a fork in progress: it has no specification, and is young
		half.Damage(runs.Run("longer").Spec().Key, nil)
		half.Damage(runs.Run("longer").Past().Key, nil)
		b.Damage(runs.Run("longer").Spec().Key, spec)

		for range 3 {
			gc(t, b, collect.Policy{})
		}
		clean(t, b)
		if problems, err := verify.Run(t.Context(), b, "longer"); err != nil || len(problems) > 0 {
			t.Errorf("the validators found %v, %v; want no problems", problems, err)
		}
		if _, err := collect.Collect(t.Context(), old(t, half), collect.Policy{Grace: grace}, false,
			func(int, int) {}); err != nil {
			t.Fatal(err)
		}
		if ok, err := runs.Run("small").Credits(2, 1).Exists(t.Context(), half); err != nil || !ok {
			t.Errorf("the labels of a slot exist: %v, %v; want them kept while the fork is made", ok, err)
		}
	})
}

func list(t *testing.T, b store.Bucket, prefix string) []store.Ref {
	t.Helper()
	all, err := b.List(t.Context(), prefix)
	if err != nil {
		t.Fatal(err)
	}

	return all
}

// onPut is a store that calls a function before it writes an object.
type onPut struct {
	store.Bucket
	key string
	do  func()
}

func (o onPut) PutOnce(ctx context.Context, key string, body []byte) (bool, error) {
	if key == o.key {
		o.do()
	}

	return o.Bucket.PutOnce(ctx, key, body)
}

func TestAForkIsNotMadeOfARunThatIsDeletedMeanwhile(t *testing.T) {
	b := finished(t)()
	request := fork.Request{Run: "small", Name: "longer", Epoch: 1}
	f, err := fork.Plan(t.Context(), b, request, spec.Source{}, catalog.All{})
	if err != nil {
		t.Fatal(err)
	}
	deletes := onPut{b, runs.Run("longer").Origin().Key, func() {
		if err := remove(t, b, "small"); err != nil {
			t.Errorf("Delete = %v, want no error", err)
		}
	}}
	if err := f.Make(t.Context(), deletes, func(int) {}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Make = %v, want %v", err, store.ErrNotFound)
	}
}

// old makes everything old except the objects of a fork.
func old(t *testing.T, b *store.Memory) *store.Memory {
	t.Helper()
	time.Sleep(2 * grace)
	key := runs.Run("longer").Base().Key
	raw, err := b.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	b.Damage(key, raw) // written again, now

	return b
}

// without is a store whose LISTs leave out everything under a prefix.
type without struct {
	*store.Memory
	prefix string
}

func (w without) List(ctx context.Context, prefix string) ([]store.Ref, error) {
	all, err := w.Memory.List(ctx, prefix)

	return slices.DeleteFunc(all, func(o store.Ref) bool { return strings.HasPrefix(o.Key, w.prefix) }), err
}

func (w without) Folders(ctx context.Context, prefix string) ([]string, error) {
	all, err := w.Memory.Folders(ctx, prefix)

	return slices.DeleteFunc(all, func(name string) bool { return strings.HasPrefix(prefix+name+"/", w.prefix) }), err
}

// TestARunOfALineIsNotDeletedIfNoListShowsTheLine relies on the run itself, which knows the lines that have accepted
// its systems.
func TestARunOfALineIsNotDeletedIfNoListShowsTheLine(t *testing.T) {
	b := finished(t)()
	promote(t, b, 1)
	err := remove(t, without{b, "lines/"}, "small")
	if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "entry 1 of line mobile accepts small@1") {
		t.Errorf("Delete = %v, want an invalid fault that names the line", err)
	}
}

// TestARunThatALineDidNotAcceptIsDeleted covers a promotion that lost against another one.
func TestARunThatALineDidNotAcceptIsDeleted(t *testing.T) {
	b := finished(t)()
	forked(t, b, "longer", nil)
	system, err := lines.Find(t.Context(), b, "longer", 1)
	if err != nil {
		t.Fatal(err)
	}
	promote(t, b, 1)
	late := lines.Entry{Verb: lines.Promote, System: system}
	if _, err := lines.Line("mobile").Append(t.Context(), b, 0, late); fault.KindOf(err) != fault.Invalid {
		t.Errorf("the second entry 1 of a line: %v, want an invalid fault", err)
	}
	if err := remove(t, b, "longer"); err != nil {
		t.Errorf("Delete of a run that no line has accepted = %v, want no error", err)
	}
}
