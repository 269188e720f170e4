package miniwob

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
)

var (
	_ envadapters.Suite         = (*Suite)(nil)
	_ envadapters.Versioned     = (*Suite)(nil)
	_ envadapters.Expert        = (*environment)(nil)
	_ envadapters.Replayable    = (*environment)(nil)
	_ envadapters.Screenshotter = (*environment)(nil)
)

// own are pages for tests, under the same globals as the official ones.
const own = "testdata"

// suites are opened once, because a browser takes a while to start.
var suites = map[string]*Suite{}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, s := range suites {
		_ = s.Close()
	}

	os.Exit(code)
}

func suite(t testing.TB, data, semantics string) *Suite {
	t.Helper()
	key := data + " " + semantics
	if suites[key] == nil {
		s, err := New(envadapters.Options{Data: data, Semantics: semantics}, 1, 2)
		if err != nil {
			t.Fatal(err)
		}
		suites[key] = s
	}

	return suites[key]
}

func open(t testing.TB, data, semantics string) (*Suite, *environment) {
	t.Helper()
	s := suite(t, data, semantics)
	e, err := s.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close(context.Background()) })

	return s, e.(*environment)
}

// task returns a task of the split all.
func (s *Suite) task(template string, seed uint64) domain.Task {
	return domain.Task{
		Suite:    s.Name(),
		Template: template,
		Split:    SplitAll,
		Seed:     seed,
		MaxSteps: s.rules.maxSteps,
	}
}

func reset(t testing.TB, e *environment, template string, seed uint64) envadapters.Transition {
	t.Helper()
	tr, err := e.Reset(t.Context(), e.suite.task(template, seed))
	if err != nil {
		t.Fatalf("reset %s: got %v, want no error", template, err)
	}

	return tr
}

func step(t testing.TB, e *environment, a domain.Action) envadapters.Transition {
	t.Helper()
	tr, err := e.Step(t.Context(), a)
	if err != nil {
		t.Fatalf("step %s: got %v, want no error", a.JSON(), err)
	}

	return tr
}

// find returns the element with a text or description.
func find(t testing.TB, tr envadapters.Transition, name string) domain.Element {
	t.Helper()
	for _, x := range tr.Observation.Elements {
		if x.Text == name || x.Desc == name {
			return x
		}
	}

	t.Fatalf("the elements are %+v, want %q among them", tr.Observation.Elements, name)

	return domain.Element{}
}

func on(kind string, x domain.Element) domain.Action { return domain.Action{Type: kind}.At(x.Index) }

func TestOptionsThatCannotWorkSayWhatToDo(t *testing.T) {
	for name, c := range map[string]struct {
		options envadapters.Options
		want    string
	}{
		"no data":           {envadapters.Options{}, "pip download miniwob==1.1.0"},
		"an empty folder":   {envadapters.Options{Data: t.TempDir()}, "pip download miniwob==1.1.0"},
		"unknown semantics": {envadapters.Options{Data: own, Semantics: "desktop"}, "it has standard and mobile"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := New(c.options, 1, 1)
			if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), c.want) {
				t.Errorf("New(%+v) = %v, want an invalid fault with %q", c.options, err, c.want)
			}
		})
	}
}

func TestServerServesNothingButTheFolder(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(own, "html"))); err != nil {
		t.Fatal(err)
	}

	secret := filepath.Join(t.TempDir(), "secret.html")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}

	if err := os.Symlink(secret, filepath.Join(dir, "miniwob", "zz.html")); err != nil {
		t.Fatal(err)
	}

	s, err := New(envadapters.Options{Data: dir}, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	for path, want := range map[string]int{
		"miniwob/form.html": http.StatusOK,
		"core/core.js":      http.StatusOK,
		"miniwob/zz.html":   http.StatusInternalServerError,
		"miniwob/":          http.StatusNotFound,
		"core/":             http.StatusNotFound,
		"miniwob/no.html":   http.StatusNotFound,
	} {
		r, err := http.Get(s.url + "/" + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Body.Close()
		if r.StatusCode != want {
			t.Errorf("%q: status %d, want %d", path, r.StatusCode, want)
		}
	}
}

func TestVersionIsOfThePages(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(own)); err != nil {
		t.Fatal(err)
	}

	version := func(data string) string {
		s, err := New(envadapters.Options{Data: data}, 1, 1)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = s.Close() }()
		v, err := s.Version(t.Context())
		if err != nil || len(v) != 16 {
			t.Errorf("Version() = %q, %v, want 16 digits", v, err)
		}
		return v
	}

	before := version(dir)
	if want := version(own); before != want {
		t.Errorf("a copy of the pages has the version %s, want %s", before, want)
	}

	if err := os.WriteFile(filepath.Join(dir, "html", "miniwob", "form.html"), []byte("changed"), 0o600); err != nil {
		t.Fatal(err)
	}

	if after := version(dir); after == before {
		t.Errorf("changed pages have the version %s, want another one", after)
	}
}

func TestSplitsAreOfTheNamesAlone(t *testing.T) {
	s, _ := open(t, own, "")
	if len(mobile92) != 92 || len(mobile62) != 62 {
		t.Errorf("the lists have %d and %d names, want 92 and 62", len(mobile92), len(mobile62))
	}

	for _, n := range mobile62 {
		if !slices.Contains(mobile92, n) {
			t.Errorf("%s is in mobile-62 only, want it in mobile-92 too", n)
		}
	}

	all, _ := s.Templates(SplitAll)
	train, _ := s.Templates(domain.SplitTrain)
	test, _ := s.Templates(domain.SplitTestTemplates)
	if len(all) != 5 || len(train)+len(test) != len(all) {
		t.Errorf("%d + %d of %d templates, want 5 in all", len(train), len(test), len(all))
	}

	if m := s.missing(); len(m) != 92 {
		t.Errorf("missing %v, want all 92", m)
	}
}
