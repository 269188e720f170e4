package fork_test

import (
	"strings"
	"testing"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/care/fork"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/test/kit/testrun"
	"github.com/collabui/collabui/workers/catalog"
)

func TestANameIsThatOfOneForkOnly(t *testing.T) {
	t.Parallel()
	r, _ := testrun.Finished(t)
	plan := func(beta string) (*fork.Fork, error) {
		return fork.Plan(t.Context(), r.Bucket, fork.Request{
			Run: "small", Name: "a", Epoch: 1, Who: "ann", Typed: map[string]string{"train.beta": beta},
		}, spec.Source{}, catalog.All{})
	}
	f, err := plan("0.3")
	if err == nil {
		err = f.Make(t.Context(), r.Bucket, func(int) {})
	}
	if err != nil {
		t.Fatal(err)
	}

	if _, err := plan("0.3"); err != nil {
		t.Errorf("the same again: %v, want it to go on", err)
	}
	if _, err := plan("0.4"); fault.KindOf(err) != fault.Invalid ||
		!strings.Contains(err.Error(), "another fork") {
		t.Errorf("with another value: %v, want another name asked for", err)
	}
}
