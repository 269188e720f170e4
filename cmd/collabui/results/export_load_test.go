package results

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/test/kit/testrun"
	"github.com/collabui/collabui/trainer/rows"
)

// loaded is a configuration as the package datasets has it.
type loaded struct {
	Columns []string
	Rows    []map[string]any
}

// loadAll loads all configurations of a folder.
func loadAll(t *testing.T, dir string) map[string]loaded {
	t.Helper()
	python := os.Getenv("COLLABUI_DATASETS_PYTHON")
	if python == "" {
		t.Skip("COLLABUI_DATASETS_PYTHON names no Python with the package datasets: `make datasets` installs one")
	}
	c := exec.CommandContext(t.Context(), python, "testdata/load_all.py", dir, t.TempDir())
	var said strings.Builder
	c.Stderr = &said
	raw, err := c.Output()
	if err != nil {
		t.Fatalf("load_all.py ends with %v, want rows\n%s", err, said.String())
	}
	var out map[string]loaded
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}

	return out
}

// wantLoaded checks that a folder's configurations have exactly the rows of their files.
func wantLoaded(t *testing.T, dir string, configs int) {
	t.Helper()
	got := loadAll(t, dir)
	if len(got) != configs {
		t.Errorf("%d configurations are loaded, want %d", len(got), configs)
	}
	for name, c := range got {
		var want []map[string]any
		for line := range strings.Lines(read(t, filepath.Join(dir, name+".jsonl"))) {
			var row map[string]any
			if err := json.Unmarshal([]byte(line), &row); err != nil {
				t.Fatal(err)
			}
			for column := range row {
				if !slices.Contains(c.Columns, column) {
					t.Fatalf("%s is loaded with the columns %v, want %s, too", name, c.Columns, column)
				}
			}
			want = append(want, row)
		}
		for _, row := range c.Rows {
			for column, v := range row {
				if v == nil { // the row has none
					delete(row, column)
				}
			}
		}
		if !reflect.DeepEqual(c.Rows, want) {
			t.Errorf("%s is loaded with %d rows, the first %v; want %d rows, the first %v",
				name, len(c.Rows), c.Rows[0], len(want), want[0])
		}
	}
}

// TestTheDatasetsPackageLoadsExports loads exports of a run, and sets whose rows differ: with and without screenshots
// and wrong answers, with whole and broken weights, and in a file so large that it is read in pieces.
func TestTheDatasetsPackageLoadsExports(t *testing.T) {
	r := testrun.Learning(t, testrun.Tiny())
	if _, err := r.Play(t, nil); err != nil {
		t.Fatal(err)
	}
	for epoch, configs := range map[string]int{"1": 20, "base": 3} {
		t.Run(epoch, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "out")
			if _, err := export(t.Context(), r.Bucket, "small", exportOptions{epoch: epoch, out: dir}); err != nil {
				t.Fatal(err)
			}
			wantLoaded(t, dir, configs)
		})
	}

	t.Run("rows that differ", func(t *testing.T) {
		long := strings.Repeat("long ", 1000)
		mixed := []domain.Example{{Prompt: "p", Chosen: "c", Weight: 1}}
		for range 3000 {
			mixed = append(mixed, domain.Example{Prompt: long, Chosen: "c", Weight: 2})
		}
		mixed = append(mixed, domain.Example{Prompt: "p <image>", Chosen: "c", Rejected: "r", Weight: 0.5,
			Image: "abc"})
		sets := []rows.Set{
			{Name: "mixed", System: "S", Pairs: mixed}, {Name: "none", System: "S"},
			{Name: "plain", System: "S", Pairs: mixed[:1]},
		}
		files, err := rows.Export(sets...)
		if err != nil {
			t.Fatal(err)
		}
		if files["README.md"], err = rows.CardHeader("a run", rows.Configs(files, sets...)); err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		if err := writeFiles(dir, files); err != nil {
			t.Fatal(err)
		}
		wantLoaded(t, dir, 8)
	})
}
