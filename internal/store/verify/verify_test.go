package verify_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/internal/store/verify"
	"github.com/collabui/collabui/test/kit/testrun"
)

// finished gives a finished run and a way to take its objects back to what they were.
func finished(t *testing.T) (*store.Memory, func()) {
	t.Helper()
	r := testrun.New(t, testrun.Small())
	if _, err := r.Play(t, nil); err != nil {
		t.Fatal(err)
	}
	all, err := r.Bucket.List(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	saved := map[string][]byte{}
	for _, o := range all {
		if saved[o.Key], err = r.Bucket.Get(t.Context(), o.Key); err != nil {
			t.Fatal(err)
		}
	}
	return r.Bucket, func() {
		now, _ := r.Bucket.List(t.Context(), "")
		for _, o := range now {
			if saved[o.Key] == nil {
				r.Bucket.Damage(o.Key, nil)
			}
		}
		for k, b := range saved {
			r.Bucket.Damage(k, b)
		}
	}
}

// change rewrites a manifest with a valid hash: what a bug would do, not a bad disk.
func change[T any](t *testing.T, b *store.Memory, key string, f func(*T)) {
	t.Helper()
	v, _, err := store.Read[T](t.Context(), b, key)
	if err != nil {
		t.Fatal(err)
	}
	f(&v)
	raw, err := store.Seal(v)
	if err != nil {
		t.Fatal(err)
	}
	b.Damage(key, raw)
}

func TestEveryPlantedViolationIsFound(t *testing.T) {
	b, restore := finished(t)
	const run = "small"
	pairsKey := ""
	for slot := 1; slot <= 10; slot++ {
		if p, _, err := runs.Run(run).Pairs(2, slot).Read(t.Context(), b); err == nil && len(p.Pairs) > 0 && p.Pairs[0].Source == domain.SourceAdversary {
			pairsKey = runs.Run(run).Pairs(2, slot).Key
			break
		}
	}
	if pairsKey == "" {
		t.Fatal("no pairs in epoch 2")
	}
	for name, c := range map[string]struct {
		plant func()
		want  string
	}{
		"a slot is left out": {func() { change(t, b, runs.Run(run).Epoch(1).Key, func(e *runs.Epoch) { e.Episodes = e.Episodes[1:] }) }, "9 slots are committed of 10"},
		"a slot is committed twice": {func() {
			change(t, b, runs.Run(run).Epoch(1).Key, func(e *runs.Epoch) { e.Episodes[0] = e.Episodes[1] })
		}, "slot 2 is committed twice"},
		"a slot has two episodes": {func() {
			raw, _ := b.Get(t.Context(), runs.Run(run).Attempt(1, 3, 1).Key)
			b.Damage(runs.Run(run).Attempt(1, 3, 2).Key, raw)
		}, "slot 3 has 2 episodes"},
		"an update is applied twice": {func() {
			change(t, b, runs.Run(run).Update(2, 1).Key, func(u *runs.Update) { u.Parent = u.Policy })
		}, "applied twice"},
		"an update is not the committed": {func() {
			change(t, b, runs.Run(run).Update(1, 0).Key, func(u *runs.Update) { u.Policy.Digest = strings.Repeat("0", 64) })
		}, "not what the epoch committed"},
		"a label is flipped": {func() {
			change(t, b, strings.Replace(pairsKey, "pairs", "credit", 1), func(c *runs.Credits) {
				for i := range c.Steps {
					for j := range c.Steps[i].Labels {
						c.Steps[i].Labels[j] = domain.Uncertain
					}
				}
			})
		}, "labelled 1"},
		"a pair's chosen is invented":   {func() { change(t, b, pairsKey, func(p *runs.Pairs) { p.Pairs[0].Chosen = "invented" }) }, "chosen is not"},
		"a pair's rejected is invented": {func() { change(t, b, pairsKey, func(p *runs.Pairs) { p.Pairs[0].Rejected = "invented" }) }, "rejected stands in no recorded call"},
		"another topology": {func() {
			change(t, b, runs.Run(run).Attempt(2, 5, 1).Key, func(e *runs.Episode) { e.Topology.SHA256 = "x" })
		}, "another topology"},
		"another system version": {func() {
			change(t, b, runs.Run(run).Attempt(2, 5, 1).Key, func(e *runs.Episode) { e.System = 0 })
		}, "system version 0"},
		"a cell's text is changed": {func() {
			change(t, b, runs.Run(run).Step(1, 1, 1, 1).Key, func(s *runs.Step) { s.Decision.Cells[0].Text = "other" })
		}, "digest does not follow"},
		"the final digest is invented": {func() { change(t, b, runs.Run(run).End().Key, func(e *runs.End) { e.FinalDigest = "0" }) }, "final digest"},
		"a data set lost pairs":        {func() { change(t, b, runs.Run(run).Dataset(1, 0).Key, func(d *runs.Dataset) { d.Count-- }) }, "the epoch's episodes have"},
		"a data set is invented": {func() {
			change(t, b, runs.Run(run).Dataset(1, 0).Key, func(d *runs.Dataset) {
				raw, err := store.GetBlob(t.Context(), b, d.Body.SHA256)
				if err != nil {
					t.Fatal(err)
				}
				d.Body, err = store.PutBlob(t.Context(), b, bytes.Replace(raw, []byte(`"chosen":"`), []byte(`"chosen":"x`), 1))
				if err != nil {
					t.Fatal(err)
				}
			})
		}, "is not the one that the epoch's episodes have"},
	} {
		t.Run(name, func(t *testing.T) {
			c.plant()
			defer restore()
			ps, err := verify.Run(t.Context(), b, run)
			if err != nil {
				t.Fatal(err)
			}
			text, _ := json.Marshal(ps)
			if !strings.Contains(string(text), c.want) {
				t.Errorf("not found: %q in %s", c.want, text)
			}
		})
	}
	if ps, err := verify.Run(t.Context(), b, run); err != nil || len(ps) > 0 {
		t.Fatalf("the restored run has problems: %v %v", ps, err)
	}
}

func TestFsckNamesTheObjectWithAFlippedByteWhicheverItIs(t *testing.T) {
	b, restore := finished(t)
	all, err := b.List(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range all {
		raw, err := b.Get(t.Context(), o.Key)
		if err != nil {
			t.Fatal(err)
		}
		if i%7 != 0 && !store.IsBlob(o.Key) { // the same code for all: every seventh manifest, every blob
			continue
		}
		raw[len(raw)*i/len(all)] ^= 1
		b.Damage(o.Key, raw)
		rep, err := verify.Fsck(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, p := range rep.Problems {
			found = found || p.Key == o.Key
		}
		if !found {
			t.Errorf("a flipped byte in %s is not found: %v", o.Key, rep.Problems)
		}
		raw[len(raw)*i/len(all)] ^= 1
		b.Damage(o.Key, raw)
	}
	b.Damage(store.BlobPrefix+strings.Repeat("a", 64), []byte("stray"))
	rep, err := verify.Fsck(t.Context(), b)
	if err != nil || len(rep.Problems) != 1 || len(rep.Unreferenced) == 0 {
		t.Fatal(rep, err)
	}
	restore()
	b.Damage(runs.Run("small").Topology(1).Key, nil)
	if rep, err = verify.Fsck(t.Context(), b); err != nil || len(rep.Problems) == 0 || rep.Problems[0].Key != runs.Run("small").Topology(1).Key {
		t.Fatal(rep.Problems, err)
	}
}

// silent is a store that does not answer for some objects.
type silent struct{ store.Bucket }

func (s silent) Get(ctx context.Context, key string) ([]byte, error) {
	if strings.HasSuffix(key, "topology.json") {
		return nil, fault.New(fault.Transient, "no answer")
	}
	return s.Bucket.Get(ctx, key)
}

func TestAStoreThatDoesNotAnswerIsNoVerdictOnItsObjects(t *testing.T) {
	b, restore := finished(t)
	defer restore()
	if rep, err := verify.Fsck(t.Context(), silent{b}); fault.KindOf(err) != fault.Transient || err == nil || len(rep.Problems) > 0 {
		t.Error(rep.Problems, err)
	}
}
