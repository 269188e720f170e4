package gateway

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/test/kit/fakeengine"
)

func TestFoldersOfAnEarlierProcess(t *testing.T) {
	both(t, func(t *testing.T, e *fakeengine.Engine) {
		for name, spoil := range map[string]func(dir string) error{
			"right": func(string) error { return nil },
			"changed": func(dir string) error {
				return os.WriteFile(filepath.Join(dir, "adapter_model.safetensors"), []byte("evil"), 0o644)
			},
			"more": func(dir string) error {
				return os.WriteFile(filepath.Join(dir, "adapter_model.bin"), []byte("evil"), 0o644)
			},
			"less": func(dir string) error { return os.Remove(filepath.Join(dir, "adapter_config.json")) },
		} {
			s := setUp(t, e, nil)
			d := s.lora(name)
			s.says(d, name)
			s.restart()
			if err := spoil(s.gate.dir(d)); err != nil {
				t.Fatal(err)
			}
			loads := e.Calls(s.gate.dialect.load)
			s.says(d, name)
			adopted := len(e.Loaded()) == 1 && e.Loaded()[0] == prefix(d)
			if adopted != (name == "right") { // otherwise under a name that never stood for other bytes
				t.Fatalf("%s: %v after %d loads, want its first name only for intact files",
					name, e.Loaded(), e.Calls(s.gate.dialect.load)-loads)
			}
			sums := map[string]string{
				"adapter_config.json":       store.Sum([]byte(`{"r":8}`)),
				"adapter_model.safetensors": store.Sum([]byte(name)),
			}
			if err := store.CheckFiles(s.gate.dir(d), sums); err != nil {
				t.Fatal(err)
			}
			e.Restart()
		}
	})
}

func TestAnAdapterWithoutFilesIsNeverTrusted(t *testing.T) {
	e := &fakeengine.Engine{}
	s := setUp(t, e, func(o *Options) { o.Base = "base" })
	d, evil := s.lora("x"), t.TempDir()
	e.Put(prefix(d), evil)
	e.Down(true)
	s.refuses(d, http.StatusServiceUnavailable, "does not answer")
	e.Down(false)
	s.restart() // as if it had been killed at that point
	s.says(d, "x")
	if got := e.Loaded(); len(got) != 1 || !strings.HasPrefix(got[0], prefix(d)+"-") {
		t.Fatalf("%v are loaded, want one under another name than %s", got, prefix(d))
	}
}

func TestAdaptersOfAnEarlierProcess(t *testing.T) {
	e := &fakeengine.Engine{}
	s := setUp(t, e, nil)
	served, spoiled, unknown := s.lora("served"), s.lora("spoiled"), s.lora("unknown")
	for _, d := range []string{served, spoiled, unknown} {
		s.chat(d)
	}

	weights := filepath.Join(s.gate.dir(spoiled), "adapter_model.safetensors")
	if err := os.WriteFile(weights, []byte("evil"), 0o644); err != nil {
		t.Fatal(err)
	}

	e.Put("p-0123456789abcdef", s.gate.dir(served)) // belongs to no policy
	e.Put("theirs", s.gate.dir(served))             // not a name that gateways use
	s.restart()
	s.run()
	s.until("only adapters of others stay", func() bool { return strings.Join(e.Loaded(), " ") == "theirs" })

	s.says(unknown, "unknown")
	s.says(spoiled, "spoiled")
	if got := e.Loaded(); !slices.Contains(got, prefix(unknown)) {
		t.Errorf("%v are loaded, want the one that was asked for among them", got)
	}
}

func TestFoldersDoNotPileUp(t *testing.T) {
	e := &fakeengine.Engine{}
	s := setUp(t, e, func(o *Options) { o.Keep = 1 })
	d := s.lora("x")
	for i := range 9 {
		if err := os.MkdirAll(s.gate.dir(fmt.Sprintf("%064x", i)), 0o755); err != nil {
			t.Fatal(err)
		}
	}

	if err := os.MkdirAll(filepath.Join(s.opts.Adapters, ".part-123"), 0o755); err != nil {
		t.Fatal(err)
	}

	s.restart()
	s.says(d, "x")
	s.run()
	s.until("folders are swept", func() bool { return len(s.gate.folders()) <= 3 })
	if torn, err := filepath.Glob(filepath.Join(s.opts.Adapters, ".part-*")); err != nil || len(torn) != 0 {
		t.Fatalf("torn downloads: %v, %v, want none", torn, err)
	}

	s.says(d, "x")
}
