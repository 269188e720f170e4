package main

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// olderStore unpacks the store of a run of two epochs that version 50dccb5 made on 2026-11-23, and returns its data
// folder. Eight weights and optimiser states are left out for their size.
func olderStore(t *testing.T) string {
	t.Helper()
	z, err := zip.OpenReader(filepath.Join("testdata", "older-store.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = z.Close() }()

	data := t.TempDir()
	if err := os.CopyFS(filepath.Join(data, "services", "s3", "collabui"), z); err != nil {
		t.Fatal(err)
	}

	return data
}

// said runs a command and returns its exit code and everything that it says.
func said(line ...string) (int, string) {
	var out bytes.Buffer
	code := run(line, &out, &out)

	return code, out.String()
}

func TestAStoreOfAnOlderVersionOpens(t *testing.T) {
	data := olderStore(t)
	_, text := said("fsck", "--data", data)
	missing := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^PROBLEM (.*)$`).FindAllStringSubmatch(text, -1) {
		key, detail, _ := strings.Cut(m[1], ": ")
		if missing[key] = true; !strings.HasPrefix(detail, "missing; named by ") {
			t.Errorf("fsck says %q, want nothing but weights that are missing", m[1])
		}
	}
	if len(missing) != 8 || !strings.Contains(text, "225 objects") {
		t.Errorf("fsck misses %d objects and says\n%s\nwant 8 of weights, and 225 objects", len(missing), text)
	}

	pages := filepath.Join(t.TempDir(), "report")
	const want = "has 28 documents" // of the run, its list, 12 episodes and what was evaluated
	if code, text := said("report", "older", "--out", pages, "--data", data); code != exitOK ||
		!strings.Contains(text, want) {
		t.Errorf("report = %d, %s, want that it %s", code, text, want)
	}
}

func TestARecordOfANewerVersionIsRefused(t *testing.T) {
	data := olderStore(t)
	epoch := filepath.Join(data, "services", "s3", "collabui", "runs", "older", "epochs", "0001", "epoch.json")
	body, err := os.ReadFile(epoch)
	if err != nil {
		t.Fatal(err)
	}

	newer := bytes.Replace(body, []byte(`{"format":1,`), []byte(`{"format":2,`), 1)
	if err := os.WriteFile(epoch, newer, 0o644); err != nil || bytes.Equal(newer, body) {
		t.Fatalf("no newer record was made (%v), want format 2", err)
	}

	const want = "epochs/0001/epoch.json has format 2, this worker reads 1: give it the version of the others"
	for _, line := range [][]string{
		{"report", "older", "--out", filepath.Join(t.TempDir(), "report"), "--data", data},
		{"fsck", "--data", data},
	} {
		if code, text := said(line...); code == exitOK || !strings.Contains(text, want) {
			t.Errorf("%s = %d and %q, want an error with %q", line[0], code, text, want)
		}
	}
}
