package view_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/internal/care/fork"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/test/kit/testrun"
	"github.com/collabui/collabui/workers/catalog"
)

func TestTheLineageOfARunLeadsBackToItsBase(t *testing.T) {
	t.Parallel()
	r, _ := testrun.Finished(t)
	b := r.Bucket
	f, err := fork.Plan(t.Context(), b, fork.Request{Run: "small", Name: "forked", Epoch: 1, Who: "ann", Why: "a try"},
		spec.Source{}, catalog.All{})
	if err == nil {
		err = f.Make(t.Context(), b, func(int) {})
	}
	if err != nil {
		t.Fatal(err)
	}
	given := r.Spec
	given.Name, given.FineTune.Base = "given", store.Sum(nil)
	record(t, b, runs.Run("given").Spec(), given)
	record(t, b, runs.Run("given").Base(), runs.Base{Curve: []runs.EvalPoint{{Rate: 0.4}}})

	first := "epoch 1 of small on webtasks, "
	for name, want := range map[string][]string{
		"small": {first, "stage 1 of small on webtasks, "}, // epoch 1 is the best on val
		"forked": {
			"epoch 2 of forked on webtasks, ", "forked is a fork of small after epoch 1, by ann: a try", first,
			"stage 1 of small on webtasks, ",
		},
		"given": {"stage 1 of given on webtasks, from the policy " + given.FineTune.Base},
	} {
		var got []string
		for _, a := range at(t, document(t, library(b, 50), "run/"+name), "lineage").([]any) {
			got = append(got, at(t, a, "text").(string))
		}
		if !slices.EqualFunc(got, want, strings.HasPrefix) {
			t.Errorf("the lineage of %s is %q, want beginnings %q", name, got, want)
		}
	}
}
