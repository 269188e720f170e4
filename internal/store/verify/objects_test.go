package verify_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/internal/store/verify"
)

// twoRuns returns a store with the runs a and b. Each has a level of stage 1 whose data set is a blob.
func twoRuns(t *testing.T) (*store.Memory, map[string]store.Ref) {
	t.Helper()
	b, bodies := &store.Memory{}, map[string]store.Ref{}
	for _, name := range []string{"a", "b"} {
		body, err := store.PutBlob(t.Context(), b, []byte(name))
		if err != nil {
			t.Fatal(err)
		}
		bodies[name] = body
		run, s := runs.Run(name), spec.Default()
		s.Name = name
		if _, _, err := run.Spec().Record(t.Context(), b, func() (spec.Spec, error) { return s, nil }); err != nil {
			t.Fatal(err)
		}
		set := runs.LevelSet{Body: body}
		_, _, err = run.Level(1).Record(t.Context(), b, func() (runs.LevelSet, error) { return set, nil })
		if err != nil {
			t.Fatal(err)
		}
	}

	return b, bodies
}

func TestOneRunIsVerifiedWithWhatItReferences(t *testing.T) {
	for _, c := range []struct {
		name   string
		damage func(b *store.Memory, bodies map[string]store.Ref)
		want   string // problem; empty for none
		blobs  int
	}{
		{"nothing damaged", func(*store.Memory, map[string]store.Ref) {}, "", 1},
		{
			"a blob of the run",
			func(b *store.Memory, bodies map[string]store.Ref) { b.Damage(bodies["a"].Key, []byte("x")) },
			"the bytes do not have the hash that names them", 1,
		},
		{
			"a missing blob of the run",
			func(b *store.Memory, bodies map[string]store.Ref) { b.Damage(bodies["a"].Key, nil) },
			"missing; named by " + runs.Run("a").Level(1).Key, 0,
		},
		{
			"a blob of another run",
			func(b *store.Memory, bodies map[string]store.Ref) { b.Damage(bodies["b"].Key, []byte("x")) }, "", 1,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, bodies := twoRuns(t)
			c.damage(b, bodies)

			r, err := verify.RunObjects(t.Context(), b, "a")
			if err != nil {
				t.Fatal(err)
			}
			if want := 2 + c.blobs; r.Objects != want {
				t.Errorf("%d objects were verified, want %d", r.Objects, want)
			}
			var text strings.Builder
			for _, p := range r.Problems {
				text.WriteString(p.String() + "\n")
			}
			if (len(r.Problems) == 0) != (c.want == "") || !strings.Contains(text.String(), c.want) {
				t.Errorf("the problems are %q, want %q", text.String(), c.want)
			}
		})
	}
}

func TestAMissingRunIsNotVerified(t *testing.T) {
	b, _ := twoRuns(t)
	if _, err := verify.RunObjects(t.Context(), b, "c"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("RunObjects of a missing run = %v, want %v", err, store.ErrNotFound)
	}
}
