package activities

import (
	"context"
	"strings"
	"testing"

	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// browsing is a suite whose pages are drawn by a browser.
type browsing struct {
	envadapters.Suite
	version string
}

func (b browsing) Version(context.Context) (string, error) { return "pages 1", nil }

func (b browsing) Browser(context.Context) (string, error) { return b.version, nil }

func TestAWorkerWithOtherVersionsThanTheEpochsIsRefused(t *testing.T) {
	s := spec.Default()
	s.Name = "run"
	suite := browsing{version: "Chromium 1"}
	for name, x := range map[string]struct {
		change func(*runs.Made)
		want   string // "": no error
	}{
		"the same":           {func(*runs.Made) {}, ""},
		"no browser at plan": {func(m *runs.Made) { m.Browser = "" }, ""},
		"another kernel":     {func(m *runs.Made) { m.Kernel = "slow" }, "the kernel fast instead of slow"},
		"another browser": {
			func(m *runs.Made) { m.Browser = "Chromium 2" }, "the browser Chromium 1 instead of Chromium 2",
		},
		"other pages": {
			func(m *runs.Made) { m.Version = "pages 2" }, "the environment pages 1 instead of pages 2",
		},
		"another prompt": {func(m *runs.Made) { m.Prompts = "0123" }, "the prompts"},
	} {
		b := &store.Memory{}
		c := NewRuns(b, "fast")
		planned := func() (spec.Spec, error) { return s, nil }
		if _, _, err := runs.Run("run").Spec().Record(t.Context(), b, planned); err != nil {
			t.Fatal(err)
		}
		begin := func() (runs.Made, error) {
			m, err := c.Versions(t.Context(), s, suite)
			x.change(&m)

			return m, err
		}
		if _, _, err := runs.Run("run").Made(2).Record(t.Context(), b, begin); err != nil {
			t.Fatal(err)
		}
		err := c.CheckVersions(t.Context(), s, 2, suite)
		switch {
		case x.want == "" && err != nil:
			t.Errorf("%s: got %v, want no error", name, err)
		case x.want != "" && (fault.KindOf(err) != fault.Transient || !strings.Contains(err.Error(), x.want)):
			t.Errorf("%s: got %v, want a transient fault with %q", name, err, x.want)
		}

		accept := func() (runs.Decision, error) { return runs.Decision{Who: "ann", Why: "the old one is gone"}, nil }
		if _, _, err := runs.Run("run").Accepted(2).Record(t.Context(), b, accept); err != nil {
			t.Fatal(err)
		}
		if err := c.CheckVersions(t.Context(), s, 2, suite); err != nil {
			t.Errorf("%s: got %v after a person accepted it, want no error", name, err)
		}
	}
}
