package activities

import (
	"context"
	"strings"
	"testing"

	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/prompts"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
)

// browsing is a suite whose pages are drawn by a browser.
type browsing struct {
	envadapters.Suite
	version string
}

func (b browsing) Browser(context.Context) (string, error) { return b.version, nil }

func TestAWorkerWithOtherVersionsThanTheEpochsIsRefused(t *testing.T) {
	s := spec.Default()
	s.Name = "run"
	prompt, err := rules.Prompt(s, prompts.Agent)
	if err != nil {
		t.Fatal(err)
	}
	c := &Common{Bucket: &store.Memory{}, Kernel: "fast"}
	same := runs.Slots{Epoch: 2, Prompt: prompt.Digest, Made: &runs.Made{Kernel: "fast", Browser: "Chromium 1"}}
	change := func(f func(*runs.Slots)) runs.Slots {
		other, made := same, *same.Made
		other.Made = &made
		f(&other)

		return other
	}
	for name, x := range map[string]struct {
		begun runs.Slots
		want  string // "": no error
	}{
		"the same":           {same, ""},
		"an older record":    {change(func(s *runs.Slots) { s.Made = nil }), ""},
		"no browser at plan": {change(func(s *runs.Slots) { s.Made.Browser = "" }), ""},
		"another kernel": {
			change(func(s *runs.Slots) { s.Made.Kernel = "slow" }),
			"the kernel fast instead of slow",
		},
		"another browser": {
			change(func(s *runs.Slots) { s.Made.Browser = "Chromium 2" }),
			"the browser Chromium 1 instead of Chromium 2",
		},
		"another prompt": {change(func(s *runs.Slots) { s.Prompt = "0123" }), "the agents' prompts"},
	} {
		err := c.sameAs(t.Context(), s, x.begun, browsing{version: "Chromium 1"})
		switch {
		case x.want == "" && err != nil:
			t.Errorf("%s: got %v, want no error", name, err)
		case x.want != "" && (fault.KindOf(err) != fault.Transient || !strings.Contains(err.Error(), x.want)):
			t.Errorf("%s: got %v, want a transient fault with %q", name, err, x.want)
		}
	}

	other := change(func(s *runs.Slots) { s.Made.Kernel = "slow" })
	accept := func() (runs.Decision, error) { return runs.Decision{Who: "ann", Why: "the old machine is gone"}, nil }
	if _, _, err := runs.Run("run").Accepted(2).Record(t.Context(), c.Bucket, accept); err != nil {
		t.Fatal(err)
	}
	if err := c.sameAs(t.Context(), s, other, browsing{version: "Chromium 1"}); err != nil {
		t.Errorf("got %v after a person accepted it, want no error", err)
	}
}
