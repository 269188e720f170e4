package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

func TestCommandLines(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.yaml")
	if err := os.WriteFile(bad, []byte("name: x\nslotz: 3\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(t.TempDir(), "none")

	for _, c := range []struct {
		line string
		code int
		want string
	}{
		{"train ../../examples/quickstart.yaml --check", app.ExitOK, "name: quickstart\nseed: 1"},
		{"train ../../examples/quickstart.yaml --check --json", app.ExitOK, `"name":"quickstart"`},
		{"train " + bad + " --check", app.ExitInvalid, `bad.yaml:2:1: slotz: unknown key; did you mean "slots"?`},
		{"train missing.yaml", app.ExitInvalid, "no such file"},
		{"delete x --data " + data, app.ExitInvalid, "[why undo]"},
		{"delete --undo --data " + data, app.ExitInvalid, "name a RUN"},
		{"delete x --why y --undo --data " + data, app.ExitInvalid, "[why undo]"},
		{"train ../../examples/quickstart.yaml --until stage-2", app.ExitInvalid,
			`--until must be stage-1, not "stage-2"`},
		{"show x --data " + data, app.ExitService, "up --data"},
		{"show x 1/1 2/1 --data " + data, app.ExitInvalid, "accepts between 1 and 2 arg(s)"},
		{"show x 1/1 2/1 --data " + data, app.ExitInvalid, "usage: collabui show RUN"},
		{"frobnicate", app.ExitInvalid, "unknown command"},
		{"envs frobnicate", app.ExitInvalid, "unknown command"},
		{"runs --frob", app.ExitInvalid, "unknown flag"},
		{"line accept x y --data " + data, app.ExitInvalid, "unknown command"},
		{"line promote x y --data " + data, app.ExitInvalid, `required flag(s) "why" not set`},
		{"resume x --retry-failed --accept-failed --data " + data, app.ExitInvalid, "none of the others can be"},
		{"down --data " + data, app.ExitOK, "nothing was running"},
		{"up --tabs 0 --data " + data, app.ExitInvalid, "--tabs must be from 1 to 64"},
		{"worker --updates -1 --data " + data, app.ExitInvalid, "--updates must be from 1 to 64"},
		{"eval x --split train --data " + data, app.ExitInvalid, "--split must not be train"},
		{"set x --data " + data, app.ExitInvalid, "at least 2 arg"},
		{"import missing.jsonl --data " + data, app.ExitInvalid, "read the file"},
		{"envs list", app.ExitOK, "train 34"},
		{"envs list miniwob", app.ExitOK, "semantics: …"},
		{"envs check miniwob --spec ../../examples/quickstart.yaml", app.ExitInvalid, "there is no miniwob under"},
		{"help", app.ExitOK, "Exit codes"},
		{"version", app.ExitOK, "record format  1"},
		{"--version", app.ExitOK, "collabui version"},

		{"infer x --line y --data " + data, app.ExitInvalid, "expected a run, with --epoch if you like, or --line"},
		{"export x --data " + data, app.ExitInvalid, "--out is required"},
		{"export x --out " + bad + " --data " + data, app.ExitInvalid, "to write to, and there is a file"},
	} {
		t.Run(c.line, func(t *testing.T) {
			var out, errw bytes.Buffer
			code := execute(strings.Fields(c.line), &out, &errw)
			if code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			if text := out.String() + errw.String(); !strings.Contains(text, c.want) {
				t.Errorf("it says %q, want %q", text, c.want)
			}
		})
	}
}

// TestReadingNeedsNoServices reads a run from the files of a data folder of which nothing runs.
func TestReadingNeedsNoServices(t *testing.T) {
	var memory store.Memory
	specification := spec.Default()
	specification.Name = "r"
	_, _, err := runs.Run("r").Spec().Record(t.Context(), &memory, func() (spec.Spec, error) {
		return specification, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	data := t.TempDir()
	all, err := memory.List(t.Context(), "")
	for _, ref := range all {
		raw, _ := memory.Get(t.Context(), ref.Key)
		path := filepath.Join(data, "services", "s3", "collabui", filepath.FromSlash(ref.Key))
		if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
			err = os.WriteFile(path, raw, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err != nil {
		t.Fatal(err)
	}

	for line, want := range map[string]string{
		"runs":          "the state of 1 run is unknown",
		"runs --usage":  "size",
		"show r":        "reason: no services run: ",
		"show r critic": "0 steps",
		"line show":     "",
		"schedule show": "",
		"fsck":          "0 problems",
		"gc --dry-run":  "would be put into the trash",
	} {
		t.Run(line, func(t *testing.T) {
			var out bytes.Buffer
			code := execute(append(strings.Fields(line), "--data", data), &out, &out)
			if code != app.ExitOK || !strings.Contains(out.String(), want) {
				t.Errorf("it ends with %d and prints\n%s\nwant 0 and %q", code, &out, want)
			}
		})
	}
}

func TestEveryCommandHasHelp(t *testing.T) {
	known := map[string]bool{}
	for _, c := range newRoot(&app.App{}).Commands() {
		if known[c.Name()] {
			t.Errorf("the command %s is listed twice, want each once", c.Name())
		}
		known[c.Name()] = true
		t.Run(c.Name(), func(t *testing.T) {
			var out bytes.Buffer
			if code := execute([]string{c.Name(), "--help"}, &out, &out); code != app.ExitOK {
				t.Errorf("exit code %d, want %d", code, app.ExitOK)
			}
			want := []string{"Exit codes"}
			if c.Runnable() {
				want = append(want, "Examples:")
			}
			for _, w := range want {
				if !strings.Contains(out.String(), w) {
					t.Errorf("the help lacks a part, want %q:\n%s", w, out.String())
				}
			}
		})
	}
}

func TestTheVersionIsCompleteAsJSON(t *testing.T) {
	var out bytes.Buffer
	if code := execute([]string{"version", "--json"}, &out, &out); code != app.ExitOK {
		t.Fatalf("exit code %d, want %d: %s", code, app.ExitOK, out.String())
	}
	var v app.Build
	if err := json.Unmarshal(out.Bytes(), &v); err != nil {
		t.Fatal(err)
	}
	if v.Version == "" || v.Go == "" || v.Kernel == "" || v.Temporal == "" || v.Records != store.FormatVersion {
		t.Errorf("version = %+v, want all fields and record format %d", v, store.FormatVersion)
	}
}
