package results

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/collabui/collabui/fault"
)

const (
	waitRow = `{"instruction":"u","system":"s","chosen":"Action: {\"action_type\":\"wait\"}","rejected":"no"}`
	sameRow = `{"prompt":"u","chosen":"Action: {\"action_type\":\"wait\"}",` +
		`"rejected":"Action: { \"action_type\": \"wait\" }"}`
)

func TestImportReportsWhatItDropsAndDoesNotKeep(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rows.json")
	if err := os.WriteFile(file, []byte("\ufeff["+waitRow+",\n"+sameRow+"]"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, _, err := readImport(file)
	if err != nil || got.Rows != 1 || got.Pairs != 1 || len(got.Same) != 1 || got.Systems != 1 {
		t.Errorf("readImport = %+v, %v; want 1 row, which is a pair, 1 dropped, and 1 system message", got, err)
	}
	var out bytes.Buffer
	got.text(&out)
	for _, want := range []string{
		"1 row, 1 of them", "dropped: 1 row whose", "the first on line 2", "system messages of 1 row;",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("import prints %q, want %q in it", out.String(), want)
		}
	}
}

func TestImportNamesFilesThatAreNoData(t *testing.T) {
	for name, c := range map[string]struct{ file, text, want string }{
		"empty":   {"rows.jsonl", " \n", "rows.jsonl is empty"},
		"Git LFS": {"rows.jsonl", "version https://git-lfs.github.com/spec/v1\n", "rows.jsonl is a pointer of Git LFS"},
		"macOS":   {"._rows.jsonl", "\x00\x05\x16\x07", "._rows.jsonl is no data"},
		"bytes":   {"rows.jsonl", "{\"prompt\":\"\xe9\"}", "rows.jsonl:1: not UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), c.file)
			if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, _, err := readImport(file)
			if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), c.want) {
				t.Errorf("readImport = %v, want an invalid fault with %q", err, c.want)
			}
		})
	}
}
