package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/collabui/collabui/internal/process/supervisor"
)

func TestDoctorPrintsTheEndsOfLogs(t *testing.T) {
	data := t.TempDir()
	if err := os.Mkdir(filepath.Join(data, "logs"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, service := range []string{"redis", "worker"} {
		text := service + " first\n"
		for i := range logLines - 1 {
			text += fmt.Sprintf("%s line %d\n", service, i)
		}
		text += service + " last without an end"
		if err := os.WriteFile(supervisor.LogPath(data, service), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args   string
		lines  int
		want   string
		absent string
	}{
		{"--logs", 2 * logLines, "redis last", "first"},
		{"--logs worker", logLines, "worker last", "redis"},
		{"--logs s3", 1, "these have: redis, worker", "last"},
		{"worker", 1, "--logs", "last"},
	} {
		var out, errw strings.Builder
		run(append([]string{"doctor", "--data", data}, strings.Fields(c.args)...), &out, &errw)
		said := out.String() + errw.String()
		if n := strings.Count(said, "\n"); n != c.lines || !strings.Contains(said, c.want) ||
			strings.Contains(said, c.absent) {
			t.Errorf("doctor %s prints %d lines, %q, want %d with %q and without %q",
				c.args, n, said, c.lines, c.want, c.absent)
		}
	}
}
