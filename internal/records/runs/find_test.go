package runs

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store"
)

// unlisted is a store that this account may not list.
type unlisted struct{ store.Bucket }

func (unlisted) Folders(context.Context, string) ([]string, error) { return nil, errors.New("denied") }

func TestAMistypedRunIsToldTheMostSimilarOne(t *testing.T) {
	var bucket store.Memory
	given := spec.Default()
	given.Name = "quickstart"
	_, _, err := Run("quickstart").Spec().Record(t.Context(), &bucket, func() (spec.Spec, error) { return given, nil })
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		name   string
		bucket store.Bucket
		run    Run
		want   string
	}{
		{"similar", &bucket, "quikstart", `there is no run "quikstart": did you mean "quickstart"?`},
		{"not similar", &bucket, "z", "there is no run \"z\": `collabui runs` lists the runs"},
		{"not listed", unlisted{&bucket}, "quikstart", "there is no run \"quikstart\": `collabui runs` lists the runs"},
	} {
		_, err := x.run.Find(t.Context(), x.bucket)
		if !errors.Is(err, store.ErrNotFound) || !strings.HasPrefix(err.Error(), x.want) {
			t.Errorf("%s: Find = %v, want not found: %s", x.name, err, x.want)
		}
	}
}
