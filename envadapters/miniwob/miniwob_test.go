package miniwob

import (
	"context"
	"errors"
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

// own are pages of our own under the same globals as the official ones.
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

func reset(t testing.TB, e *environment, template string, seed uint64) envadapters.Transition {
	t.Helper()
	tr, err := e.Reset(t.Context(), domain.Task{Suite: "miniwob", Template: template, Split: SplitAll, Seed: seed, MaxSteps: e.suite.rules.maxSteps})
	if err != nil {
		t.Fatalf("%s: %v", template, err)
	}
	return tr
}

func step(t testing.TB, e *environment, a domain.Action) envadapters.Transition {
	t.Helper()
	tr, err := e.Step(t.Context(), a)
	if err != nil {
		t.Fatalf("%s: %v", a.JSON(), err)
	}
	return tr
}

// find gives the element with a text or description.
func find(t testing.TB, tr envadapters.Transition, name string) domain.Element {
	t.Helper()
	for _, x := range tr.Observation.Elements {
		if x.Text == name || x.Desc == name {
			return x
		}
	}
	t.Fatalf("no element %q in %+v", name, tr.Observation.Elements)
	return domain.Element{}
}

func on(kind string, x domain.Element) domain.Action { return domain.Action{Type: kind}.At(x.Index) }

func TestOptionsThatCannotWorkSayWhatToDo(t *testing.T) {
	for _, o := range []envadapters.Options{{}, {Data: t.TempDir()}, {Data: own, Semantics: "desktop"}} {
		if _, err := New(o, 1, 1); fault.KindOf(err) != fault.Invalid || o.Semantics == "" && !strings.Contains(err.Error(), "pip download miniwob==1.1.0") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func TestServerGivesNothingButTheFolder(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(own, "html"))); err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(t.TempDir(), "secret.html")
	if err := errors.Join(os.WriteFile(secret, []byte("secret"), 0o600), os.Symlink(secret, filepath.Join(dir, "miniwob", "zz.html"))); err != nil {
		t.Fatal(err)
	}
	s, err := New(envadapters.Options{Data: dir}, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for path, want := range map[string]int{"form.html": 200, "zz.html": 500, "": 404, "../core/": 404, "../core/core.js": 200, "no.html": 404} {
		r, err := http.Get(s.url + path)
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
		defer s.Close()
		v, err := s.Version(t.Context())
		if err != nil || len(v) != 16 {
			t.Errorf("version %q, %v", v, err)
		}
		return v
	}
	before := version(dir)
	if before != version(own) {
		t.Error("another place of the same pages has another version")
	}
	if err := os.WriteFile(filepath.Join(dir, "html", "miniwob", "form.html"), []byte("changed"), 0o600); err != nil {
		t.Fatal(err)
	}
	if version(dir) == before {
		t.Error("changed pages keep their version")
	}
}

func TestSplitsAreOfTheNamesAlone(t *testing.T) {
	s, _ := open(t, own, "")
	if len(mobile92) != 92 || len(mobile62) != 62 || slices.ContainsFunc(mobile62, func(n string) bool { return !slices.Contains(mobile92, n) }) {
		t.Errorf("%d and %d names", len(mobile92), len(mobile62))
	}
	all, _ := s.Templates(SplitAll)
	train, _ := s.Templates(domain.SplitTrain)
	test, _ := s.Templates(domain.SplitTestTemplates)
	if len(train)+len(test) != len(all) || len(all) != 5 {
		t.Errorf("%d + %d of %d", len(train), len(test), len(all))
	}
	if m := s.Missing(); len(m) != 92 {
		t.Errorf("missing: %v", m)
	}
}
