package webtasks

import (
	"testing"

	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/acceptance"
)

func TestAcceptance(t *testing.T) {
	s, err := New(envadapters.Options{}, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })

	for _, r := range acceptance.Test(t, s, 2) {
		if r.Expert != acceptance.Solves {
			t.Errorf("%s, %s: the expert %s, want %s", r.Template, r.Split, r.Expert, acceptance.Solves)
		}
		if r.Replay != acceptance.Identical {
			t.Errorf("%s, %s: the replay is %s, want %s", r.Template, r.Split, r.Replay, acceptance.Identical)
		}
		if r.Screenshot == nil {
			t.Errorf("%s, %s: got no screenshot, want one", r.Template, r.Split)
		}
	}
}
