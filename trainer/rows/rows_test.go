package rows_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/synth"
	"github.com/collabui/collabui/test/kit/injection"
	"github.com/collabui/collabui/trainer/rows"
)

// sets are one with and one without rejected answers and screenshots. Texts hold what JSON and LLaMA-Factory escape.
var sets = []rows.Set{
	{Name: "epoch1-agent0", System: "S <b>", Pairs: []domain.Example{
		{
			Agent: 2, Slot: 3, Step: 4, Template: "t", Source: "s", Weight: 0.5,
			Prompt: "p <image> & \"q\"\nü", Chosen: "c", Rejected: "r", Image: "abc",
		},
		{Prompt: "=p2 <video>", Chosen: "c2"},
		{Slot: 1, Prompt: "p3 <audio>", Chosen: "", Rejected: "r3", Weight: 1},
	}},
	{Name: "epoch1-agent1", System: "S", Pairs: []domain.Example{
		{Agent: 1, Slot: 3, Step: 4, Source: "group", Weight: 1, Prompt: "p", Chosen: "u", Advantage: 1},
		{Agent: 1, Slot: 3, Step: 4, Source: "group", Weight: 1, Prompt: "p", Chosen: "d", Advantage: -1},
	}},
	{Name: "level1", System: "S", Pairs: []domain.Example{{Prompt: "q", Chosen: "a", Weight: 1}}},
}

// TestEveryFormatHasItsGoldenBytes compares all files with those in testdata, and checks that there are no others.
func TestEveryFormatHasItsGoldenBytes(t *testing.T) {
	got, err := rows.Export(sets...)
	if err != nil {
		t.Fatal(err)
	}

	golden, err := filepath.Glob("testdata/*")
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(golden) {
		t.Errorf("the sets have %d files, want %d", len(got), len(golden))
	}

	for _, file := range golden {
		name := filepath.Base(file)
		t.Run(name, func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if string(got[name]) != string(want) {
				t.Errorf("the bytes are\n%s, want\n%s", got[name], want)
			}
		})
	}
}

// TestInfoDescribesTheFiles checks that every column that dataset_info.json names is a field of the rows.
func TestInfoDescribesTheFiles(t *testing.T) {
	files, err := rows.Export(sets...)
	if err != nil {
		t.Fatal(err)
	}
	var info map[string]struct {
		File    string            `json:"file_name"`
		Ranking bool              `json:"ranking"`
		Columns map[string]string `json:"columns"`
	}
	if err := json.Unmarshal(files[rows.InfoFile], &info); err != nil {
		t.Fatal(err)
	}
	if len(info) != 8 {
		t.Errorf("%d data sets, want 8", len(info))
	}

	for _, s := range sets {
		for _, f := range s.Files() {
			if f.Format == rows.Preference {
				continue
			}
			t.Run(f.Dataset, func(t *testing.T) {
				d := info[f.Dataset]
				if d.File != f.Name || d.Ranking != f.Ranking {
					t.Errorf("file %q, ranking %v, want %q, %v", d.File, d.Ranking, f.Name, f.Ranking)
				}

				row, _, _ := strings.Cut(string(files[f.Name]), "\n")
				for _, column := range d.Columns {
					if !strings.Contains(row, `"`+column+`":`) {
						t.Errorf("row %s has no field, want %q", row, column)
					}
				}
			})
		}
	}
}

// TestAnExportCanBeImported checks that preference rows are read back with prompt and answers, and images are counted.
func TestAnExportCanBeImported(t *testing.T) {
	set := rows.Set{Name: "s", System: "S", Pairs: []domain.Example{
		{Prompt: "p <image> q", Chosen: "c", Rejected: "r", Image: "abc"},
		{Prompt: "p2", Chosen: "c2"},
	}}
	f := set.File(rows.Preference, false)
	var b bytes.Buffer
	if err := set.Encode(&b, f); err != nil {
		t.Fatal(err)
	}

	got, err := synth.ReadRows(f.Name, b.Bytes(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Rows) != len(set.Pairs) {
		t.Fatalf("%d rows, want %d", len(got.Rows), len(set.Pairs))
	}
	for i, p := range got.Rows {
		want := set.Pairs[i]
		want.Prompt = domain.BreakTokens(want.Prompt)
		if p.Prompt != want.Prompt || p.Chosen != want.Chosen || p.Rejected != want.Rejected {
			t.Errorf("row %d = %+v, want prompt and answers of %+v", i, p, want)
		}
	}

	if got.Images != 1 {
		t.Errorf("%d rows with images, want 1", got.Images)
	}
}

// TestNoRowHasAControlToken puts every injection of the corpus into the system message, a prompt and its answers.
func TestNoRowHasAControlToken(t *testing.T) {
	hostile := strings.Join(injection.Corpus(), "\n")
	set := rows.Set{Name: "s", System: hostile, Pairs: []domain.Example{
		{Prompt: hostile, Chosen: hostile, Rejected: hostile},
		{Prompt: hostile, Chosen: hostile, Advantage: 1},
	}}
	files, err := rows.Export(set)
	if err != nil {
		t.Fatal(err)
	}
	for name, raw := range files {
		for row := range strings.Lines(string(raw)) {
			var value any
			if err := json.Unmarshal([]byte(row), &value); err != nil && name != rows.InfoFile {
				t.Fatal(err)
			}
			text := fmt.Sprint(value)
			for _, token := range domain.ControlTokens {
				if strings.Contains(text, token) {
					t.Errorf("%s has a row with %s, want it broken", name, token)
				}
			}
		}
	}
}

// TestAnUnknownFormatIsRefused keeps a typing error from writing an empty file.
func TestAnUnknownFormatIsRefused(t *testing.T) {
	if err := sets[0].Encode(&bytes.Buffer{}, rows.File{Format: "parquet"}); err == nil {
		t.Error("Encode of format parquet succeeded, want an error")
	}
}
