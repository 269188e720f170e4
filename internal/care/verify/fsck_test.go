package verify_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/care/verify"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

type check func(context.Context, store.Bucket) (verify.Report, error)

func fsckRun(ctx context.Context, b store.Bucket) (verify.Report, error) {
	return verify.FsckRun(ctx, b, small)
}

// both are the checks of a store and of the only run in it.
var both = map[string]check{"store": verify.Fsck, "run": fsckRun}

func report(t *testing.T, f check, b store.Bucket) verify.Report {
	t.Helper()
	r, err := f(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}

	return r
}

func names(r verify.Report, key string) bool {
	return slices.ContainsFunc(r.Problems, func(p verify.Problem) bool { return p.Key == key })
}

func TestFsckNamesTheObjectWithAFlippedByte(t *testing.T) {
	b := finished(t)
	objects := list(t, b)
	for i, o := range objects {
		if i%7 != 0 && !store.IsBlob(o.Key) { // every blob, and every seventh manifest to save time
			continue
		}
		raw := get(t, b, o.Key)
		at := len(raw) * i / len(objects)
		raw[at] ^= 1
		b.Damage(o.Key, raw)
		for name, f := range both {
			if r := report(t, f, b); !names(r, o.Key) {
				t.Errorf("fsck of the %s: problems %v, want one of %s", name, r.Problems, o.Key)
			}
		}
		raw[at] ^= 1
		b.Damage(o.Key, raw)
	}
}

func TestFsckNamesABlobWithOtherBytesThatNothingRefersTo(t *testing.T) {
	b := finished(t)
	key := store.BlobPrefix + store.Sum([]byte("weights"))
	b.Damage(key, []byte("weighty"))
	if r := report(t, verify.Fsck, b); !names(r, key) {
		t.Errorf("problems %v, want one of %s", r.Problems, key)
	}
}

func TestFsckNamesAMissingObject(t *testing.T) {
	b := finished(t)
	key := runs.Run(small).Topology(1).Key
	b.Damage(key, nil)
	for name, f := range both {
		t.Run(name, func(t *testing.T) {
			if r := report(t, f, b); len(r.Problems) == 0 || r.Problems[0].Key != key {
				t.Errorf("problems %v, want one of %s", r.Problems, key)
			}
		})
	}
}

func TestFsckOfARunIsOfThatRunOnly(t *testing.T) {
	b := finished(t)
	whole, one := report(t, verify.Fsck, b), report(t, fsckRun, b)
	if len(whole.Problems) > 0 || len(one.Problems) > 0 {
		t.Fatalf("problems %v and %v, want none", whole.Problems, one.Problems)
	}
	if got, want := one.Objects, whole.Objects-len(blobs(whole.Unreferenced)); got != want {
		t.Errorf("%d objects of the run, want %d", got, want)
	}

	stray := store.BlobPrefix + strings.Repeat("a", 64)
	b.Damage(stray, []byte("stray"))
	b.Damage("runs/other/epochs/0001/topology.json", []byte("stray"))
	if r := report(t, verify.Fsck, b); len(r.Problems) != 2 || !slices.Contains(r.Unreferenced, stray) {
		t.Errorf("fsck of the store: problems %v, unreferenced %v; want two and %s", r.Problems, r.Unreferenced, stray)
	}
	if r := report(t, fsckRun, b); len(r.Problems) != 0 || r.Objects != one.Objects {
		t.Errorf("fsck of the run: problems %v of %d objects, want none of %d", r.Problems, r.Objects, one.Objects)
	}
}

func blobs(keys []string) []string {
	return slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return !store.IsBlob(k) })
}

func TestFsckOfARunThatDoesNotExistIsNotFound(t *testing.T) {
	if r, err := verify.FsckRun(t.Context(), &store.Memory{}, "none"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("FsckRun() = %+v, %v; want %v", r, err, store.ErrNotFound)
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

func TestAStoreThatDoesNotAnswerIsNotAVerdictOnItsObjects(t *testing.T) {
	b := finished(t)
	for name, f := range both {
		t.Run(name, func(t *testing.T) {
			r, err := f(t.Context(), silent{b})
			if err == nil || fault.KindOf(err) != fault.Transient || len(r.Problems) > 0 {
				t.Errorf("problems %v, error %v; want a transient fault and no problem", r.Problems, err)
			}
		})
	}
}

// TestReferencesAreFoundAsByDecoding expects that searching for texts finds the same references as decoding, in every
// object of a run, and none in the text of a page.
func TestReferencesAreFoundAsByDecoding(t *testing.T) {
	b := finished(t)
	all, err := b.List(t.Context(), "runs/")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, o := range all {
		raw, err := b.Get(t.Context(), o.Key)
		if err != nil {
			t.Fatal(err)
		}
		body, err := store.Unseal(o.Key, raw)
		if err != nil {
			t.Fatal(err)
		}
		var v any
		if err := json.Unmarshal(body, &v); err != nil {
			t.Fatal(err)
		}
		var want []store.Ref
		decoded(v, &want)
		got := verify.References(body)
		for _, refs := range [][]store.Ref{got, want} {
			slices.SortFunc(refs, func(x, y store.Ref) int { return strings.Compare(x.Key+x.SHA256, y.Key+y.SHA256) })
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got the references %v, want %v", o.Key, got, want)
		}
		found += len(got)
	}
	if found < 100 {
		t.Errorf("got %d references in %d objects, want at least 100", found, len(all))
	}

	quoted, err := json.Marshal(`{"key":"runs/x","sha256":"` + strings.Repeat("a", 64) + `"}`)
	if err != nil {
		t.Fatal(err)
	}
	if got := verify.References(quoted); len(got) > 0 {
		t.Errorf("got the references %v in what a page says, want none", got)
	}
}

// decoded finds references in a decoded value.
func decoded(v any, out *[]store.Ref) {
	switch x := v.(type) {
	case map[string]any:
		key, _ := x["key"].(string)
		sum, _ := x["sha256"].(string)
		if key != "" && sum != "" {
			*out = append(*out, store.Ref{Key: key, SHA256: sum})
		}
		if d, _ := x["digest"].(string); len(d) == 64 && x["tensor_digest"] != nil {
			*out = append(*out, store.Ref{Key: store.BlobPrefix + d, SHA256: d})
		}
		for _, y := range x {
			decoded(y, out)
		}
	case []any:
		for _, y := range x {
			decoded(y, out)
		}
	}
}

func TestARecordOfANewerVersionIsRefused(t *testing.T) {
	b := finished(t)
	epoch := runs.Run(small).Epoch(1)
	body, err := b.Get(t.Context(), epoch.Key)
	if err != nil {
		t.Fatal(err)
	}
	newer := bytes.Replace(body, []byte(`{"format":1,`), []byte(`{"format":2,`), 1)
	if bytes.Equal(newer, body) {
		t.Fatalf("the record begins with %.40s, want format 1", body)
	}
	b.Damage(epoch.Key, newer)

	const want = "epochs/0001/epoch.json has format 2, this worker reads 1: give it the version of the others"
	if _, _, err := epoch.Must(t.Context(), b); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Must = %v, want an error with %q", err, want)
	}
	if got := fmt.Sprint(report(t, verify.Fsck, b).Problems); !strings.Contains(got, want) {
		t.Errorf("fsck found %s, want a problem with %q", got, want)
	}
}
