package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/collabui/collabui/internal/process/supervisor"
)

func TestShellsCompleteNames(t *testing.T) {
	data := t.TempDir()
	for _, folder := range []string{"runs/alpha", "runs/beta", "lines/mobile", "schedules/nightly"} {
		if err := os.MkdirAll(filepath.Join(data, "services/s3/collabui", folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	state, err := json.Marshal(supervisor.State{Services: map[supervisor.Name]supervisor.Service{supervisor.S3: {}}})
	if err == nil {
		err = os.WriteFile(filepath.Join(data, "services.json"), state, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"show":            "alpha\nbeta\n:4\n",
		"train":           "alpha\nbeta\n:0\n", // and files
		"line show":       "mobile\n:4\n",
		"line promote x":  "alpha\nbeta\n:4\n",
		"schedule show":   "nightly\n:4\n",
		"schedule create": "nightly\n:0\n", // and files
		"fork":            "alpha\nbeta\n:4\n",

		"eval alpha --environment": "webtasks\nandroidworld\nmind2web\nautowebbench\nminiwob\nopenenv\nmixed\n:4\n",
		"eval alpha --split":       "train\nval\ntest-seeds\ntest-templates\ntest-apps\n:4\n",
		"infer --line":             "mobile\n:4\n",
		"envs check":               "webtasks\nandroidworld\nmind2web\nautowebbench\nminiwob\nopenenv\nmixed\n:4\n",
	}
	completes(t, data, want)
	if err := os.Remove(filepath.Join(data, "services.json")); err != nil { // as down does
		t.Fatal(err)
	}
	completes(t, data, want)
}

// completes checks what a shell offers after each line.
func completes(t *testing.T, data string, lines map[string]string) {
	t.Helper()
	for line, want := range lines {
		var out, errs bytes.Buffer
		args := append([]string{"__complete", "--data", data}, append(strings.Fields(line), "")...)
		if code := run(args, &out, &errs); code != exitOK {
			t.Errorf("%s: exit code %d, want success: %s", line, code, errs.String())
		}
		var got string
		for l := range strings.Lines(out.String()) {
			if !strings.HasPrefix(l, "--") { // flags
				got += l
			}
		}
		if got != want {
			t.Errorf("%s completes to %q, want %q", line, got, want)
		}
	}
}
