package spec_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/workers/catalog"
)

// FuzzSpecification checks that a hostile file is either refused with an error that names it, or is a specification
// that survives being written and read. Reading it neither takes long nor crashes.
func FuzzSpecification(f *testing.F) {
	files, err := filepath.Glob("../../../examples/*.yaml")
	if err != nil || len(files) == 0 {
		f.Fatalf("got the examples %v and error %v, want some", files, err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Add([]byte("name: a\nslots: 1e400\nseed: -1"))
	f.Add([]byte("a: &a [*a]"))
	f.Add([]byte("a: &a {b: 1}\nc: {<<: *a, <<: *a}"))
	f.Add([]byte("name: a\nmodels: {m: {base_url: 'http://u:p@h/'}}"))

	f.Fuzz(func(t *testing.T, raw []byte) {
		began := time.Now()
		s, err := spec.Parse(spec.Source{Name: "x.yaml", Dir: "/specs"}, raw, catalog.All{})
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%d bytes took %v, want less than 10 s", len(raw), took)
		}
		switch {
		case err == nil && s.Name == "":
			t.Error("got a specification without a name, want an error")
		case err != nil && (fault.KindOf(err) != fault.Invalid || !strings.HasPrefix(err.Error(), "x.yaml")):
			t.Errorf("got %v, want an invalid fault that names the file", err)
		}
	})
}
