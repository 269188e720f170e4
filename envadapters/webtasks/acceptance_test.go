package webtasks

import (
	"testing"

	"github.com/collabui/collabui/envadapters/acceptance"
)

func TestAcceptance(t *testing.T) {
	s, err := New(1, 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	for _, r := range acceptance.Test(t, s, 2) {
		if r.Expert != acceptance.Solves || r.Replay != acceptance.Identical || r.Screenshot == nil {
			t.Errorf("%+v", r)
		}
	}
}
