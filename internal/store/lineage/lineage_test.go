package lineage_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/fork"
	"github.com/collabui/collabui/internal/store/lineage"
	"github.com/collabui/collabui/internal/store/lines"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/test/kit/testrun"
	"github.com/collabui/collabui/workers/catalog"
)

// kinds returns the lineage of a system in short.
func kinds(t *testing.T, b store.Bucket, run string, epoch int) (out []string) {
	t.Helper()
	s, err := lines.Find(t.Context(), b, run, epoch)
	if err != nil {
		t.Fatal(err)
	}
	steps, err := lineage.Of(t.Context(), b, s, catalog.All{})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range steps {
		out = append(out, string(x.Kind)+" "+x.Run)
		if x.Text == "" || x.Kind == lineage.KindEpoch && (x.Digest == "" || len(x.Datasets) == 0 || x.Prompts == "") {
			t.Errorf("a step of %s is %+v, want all that is known of it", run, x)
		}
	}

	return out
}

func TestALineageLeadsBackToTheBase(t *testing.T) {
	t.Parallel()
	r, _ := testrun.Finished(t)
	b := r.Bucket
	f, err := fork.Plan(t.Context(), b, fork.Request{Run: "small", Name: "forked", Epoch: 1},
		spec.Source{}, catalog.All{})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Make(t.Context(), b, func(int) {}); err != nil {
		t.Fatal(err)
	}
	// A run that begins with a policy of the fork, and one that begins with a policy from outside.
	system, err := runs.Run("forked").System(t.Context(), b, 2, r.Spec.Agents)
	if err != nil {
		t.Fatal(err)
	}
	given := runs.Policy{Digest: system.Policies[0].Digest}
	for name, policy := range map[string]runs.Policy{"on-top": given, "outside": {Digest: store.Sum(nil)}} {
		s := r.Spec
		s.Name, s.FineTune.Base = name, policy.Digest
		if _, _, err := runs.Run(name).Spec().Record(t.Context(), b, func() (spec.Spec, error) {
			return s, nil
		}); err != nil {
			t.Fatal(err)
		}
		if _, _, err := runs.Run(name).Base().Record(t.Context(), b, func() (runs.Base, error) {
			return runs.Base{Policy: policy}, nil
		}); err != nil {
			t.Fatal(err)
		}
		if _, _, _, err := runs.Run(name).Made(0).Write(t.Context(), b, runs.Made{}); err != nil {
			t.Fatal(err)
		}
	}

	small := []string{"epoch small", "stage 1 small"}
	forked := append([]string{"epoch forked", "fork forked"}, small...)
	for name, want := range map[string][]string{
		"small":   append([]string{"epoch small"}, small...),
		"forked":  forked,
		"on-top":  append([]string{"stage 1 on-top"}, forked...),
		"outside": {"stage 1 outside", "imported outside"},
	} {
		epoch := 2
		if name == "on-top" || name == "outside" {
			epoch = 0
		}
		if got := kinds(t, b, name, epoch); !slices.Equal(got, want) {
			t.Errorf("the lineage of %s is %q, want %q", name, got, want)
		}
	}

	_, err = lineage.Of(t.Context(), b, lines.System{Run: "none", Epoch: 1}, catalog.All{})
	if !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the lineage of a missing run = %v, want %v", err, store.ErrNotFound)
	}
}
