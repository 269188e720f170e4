package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
		{"train ../../examples/quickstart.yaml --check", exitOK, "name: quickstart\nseed: 1"},
		{"train ../../examples/quickstart.yaml --check --json", exitOK, `"name":"quickstart"`},
		{"train " + bad + " --check", exitInvalid, `bad.yaml:2:1: slotz: unknown key; did you mean "slots"?`},
		{"train missing.yaml", exitInvalid, "no such file"},
		{"delete x --data " + data, exitInvalid, "[why undo]"},
		{"delete --undo --data " + data, exitInvalid, "name a RUN"},
		{"delete x --why y --undo --data " + data, exitInvalid, "[why undo]"},
		{"train ../../examples/quickstart.yaml --until stage-2", exitInvalid, `--until must be stage-1, not "stage-2"`},
		{"show x --data " + data, exitService, "up --data"},
		{"show x 1/1 2/1 --data " + data, exitInvalid, "accepts between 1 and 2 arg(s)"},
		{"frobnicate", exitInvalid, "unknown command"},
		{"envs frobnicate", exitInvalid, "unknown command"},
		{"runs --frob", exitInvalid, "unknown flag"},
		{"line accept x y --data " + data, exitInvalid, "unknown command"},
		{"line promote x y --data " + data, exitInvalid, `required flag(s) "why" not set`},
		{"resume x --retry-failed --accept-failed --data " + data, exitInvalid, "none of the others can be"},
		{"down --data " + data, exitOK, "nothing was running"},
		{"up --tabs 0 --data " + data, exitInvalid, "--tabs must be from 1 to 64"},
		{"worker --updates -1 --data " + data, exitInvalid, "--updates must be from 1 to 64"},
		{"eval x --split train --data " + data, exitInvalid, "--split must not be train"},
		{"set x --data " + data, exitInvalid, "at least 2 arg"},
		{"import missing.jsonl --data " + data, exitInvalid, "read the file"},
		{"envs list", exitOK, "train 34"},
		{"envs list miniwob", exitOK, "semantics: …"},
		{"envs check miniwob --spec ../../examples/quickstart.yaml", exitInvalid, "there is no miniwob under"},
		{"help", exitOK, "Exit codes"},
		{"version", exitOK, "record format  1"},
		{"--version", exitOK, "collabui version"},

		{"infer x --line y --data " + data, exitInvalid, "expected a run, with --epoch if you like, or --line"},
		{"export x --data " + data, exitInvalid, "--out is required"},
		{"export x --out " + bad + " --data " + data, exitInvalid, "to write to, and there is a file"},
	} {
		t.Run(c.line, func(t *testing.T) {
			var out, errw bytes.Buffer
			code := run(strings.Fields(c.line), &out, &errw)
			if code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			if text := out.String() + errw.String(); !strings.Contains(text, c.want) {
				t.Errorf("it says %q, want %q", text, c.want)
			}
		})
	}
}

func TestEveryCommandHasHelp(t *testing.T) {
	known := map[string]bool{}
	for _, c := range commands(&app{}) {
		if known[c.Name()] {
			t.Errorf("the command %s is listed twice, want each once", c.Name())
		}
		known[c.Name()] = true
		t.Run(c.Name(), func(t *testing.T) {
			var out bytes.Buffer
			if code := run([]string{c.Name(), "--help"}, &out, &out); code != exitOK {
				t.Errorf("exit code %d, want %d", code, exitOK)
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
	if code := run([]string{"version", "--json"}, &out, &out); code != exitOK {
		t.Fatalf("exit code %d, want %d: %s", code, exitOK, out.String())
	}
	var v version
	if err := json.Unmarshal(out.Bytes(), &v); err != nil {
		t.Fatal(err)
	}
	if v.Version == "" || v.Go == "" || v.Kernel == "" || v.Temporal == "" || v.Records != store.FormatVersion {
		t.Errorf("version = %+v, want all fields and record format %d", v, store.FormatVersion)
	}
}
