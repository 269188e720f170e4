package recorded

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/collabui/collabui/fault"
)

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tasks.json")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestRecordsAreReadOneByOneAndAgain(t *testing.T) {
	for name, text := range map[string]string{
		"array": "[\n {\"a\": \"}{\\\"[\"},\n\n {\"a\": {\"b\": [1, 2]}}\n]\n",
		"lines": "{\"a\": \"}{\\\"[\"}\n\n\n{\"a\": {\"b\": [1, 2]}}",
	} {
		file := write(t, text)
		var lines []int
		var at []Where
		digest, problems, err := Read(file, false, func(raw []byte, w Where) error {
			var x struct{ A any }
			lines, at = append(lines, w.Line), append(at, w)
			return json.Unmarshal(raw, &x)
		})
		if err != nil || len(problems) != 0 || len(digest) != 64 || len(lines) != 2 || lines[1] != 4 {
			t.Fatalf("%s: %v %v %v %v", name, digest, problems, err, lines)
		}
		if raw, err := At(at[1]); err != nil || string(raw) != `{"a": {"b": [1, 2]}}` {
			t.Errorf("%s: %s %v", name, raw, err)
		}
	}
}

func TestABrokenRecordIsNamedAndSkippedOrFatal(t *testing.T) {
	file := write(t, "[{\"n\": 1},\n{\"n\": tru},\n{\"n\": 3},\n{\"n\": 4}, {\"n\": \n")
	got := []int{}
	read := func(raw []byte, _ Where) error {
		var x struct{ N int }
		err := json.Unmarshal(raw, &x)
		if err == nil {
			got = append(got, x.N)
		}
		if x.N == 4 {
			return errors.New("four is not allowed")
		}
		return err
	}
	_, problems, err := Read(file, true, read)
	if err != nil || len(got) != 3 || len(problems) != 3 || problems[0].Where.Line != 2 || problems[1].Where.Line != 4 || !errors.Is(problems[2].Err, errTruncated) {
		t.Errorf("%v %v %v", got, problems, err)
	}
	if _, _, err := Read(file, false, read); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "tasks.json:2: record 2:") {
		t.Error(err)
	}
	for _, empty := range []string{"", "[]", "no objects"} {
		if _, _, err := Read(write(t, empty), true, read); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%q: %v", empty, err)
		}
	}
	if _, _, err := Read(filepath.Join(t.TempDir(), "none"), true, read); fault.KindOf(err) != fault.Invalid {
		t.Error(err)
	}
}
