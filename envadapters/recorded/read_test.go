package recorded

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
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
		t.Run(name, func(t *testing.T) {
			var at []Where
			digest, problems, err := Read(write(t, text), false, func(raw []byte, w Where) error {
				at = append(at, w)
				var x struct{ A any }
				return json.Unmarshal(raw, &x)
			})
			if err != nil || len(problems) != 0 {
				t.Fatalf("problems %v, error %v, want none", problems, err)
			}
			if len(digest) != 64 {
				t.Errorf("digest is %q, want 64 digits", digest)
			}
			if len(at) != 2 || at[1].Line != 4 {
				t.Fatalf("records are at %v, want two, the second on line 4", at)
			}

			raw, err := At(at[1])
			if want := `{"a": {"b": [1, 2]}}`; err != nil || string(raw) != want {
				t.Errorf("At(%v) = %s, %v, want %s", at[1], raw, err, want)
			}
		})
	}
}

// refuseFour reads {"n": number} into got and refuses 4.
func refuseFour(got *[]int) func([]byte, Where) error {
	return func(raw []byte, _ Where) error {
		var x struct{ N int }
		if err := json.Unmarshal(raw, &x); err != nil {
			return err
		}
		*got = append(*got, x.N)
		if x.N == 4 {
			return errors.New("four is not allowed")
		}

		return nil
	}
}

const threeBroken = "[{\"n\": 1},\n{\"n\": tru},\n{\"n\": 3},\n{\"n\": 4}, {\"n\": \n"

func TestBrokenRecordsAreSkipped(t *testing.T) {
	var got []int
	_, problems, err := Read(write(t, threeBroken), true, refuseFour(&got))
	if err != nil {
		t.Fatal(err)
	}
	if want := []int{1, 3, 4}; !slices.Equal(got, want) {
		t.Errorf("read %v, want %v", got, want)
	}

	var lines []int
	for _, p := range problems {
		lines = append(lines, p.Where.Line)
	}
	if want := []int{2, 4, 4}; !slices.Equal(lines, want) {
		t.Fatalf("problems on lines %v, want %v", lines, want)
	}
	if !errors.Is(problems[2].Err, errTruncated) {
		t.Errorf("the last problem is %v, want %v", problems[2].Err, errTruncated)
	}
}

func TestABrokenRecordIsNamed(t *testing.T) {
	var got []int
	_, _, err := Read(write(t, threeBroken), false, refuseFour(&got))
	if want := "tasks.json:2: record 2:"; fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want an invalid fault with %q", err, want)
	}
}

func TestRecordsWithTwoReadingsAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		`{"n": 1, "n": 2}`:                       `jsontext: duplicate object member name "n"`,
		`{"n": 1, "\u006e": 2}`:                  `jsontext: duplicate object member name "n"`,
		`{"n": 1, "a": [{"b": {}, "b": 1}]}`:     `jsontext: duplicate object member name "b" within "/a/0"`,
		"{\"n\": 1, \"a\": \"\xff\"}":            `jsontext: invalid UTF-8 within "/a"`,
		`{"n": 1, "a": "\ud800"}`:                "jsontext: invalid surrogate pair",
		`{"a": {"n": 1}, "b": {"n": 1}, "n": 1}`: "",
		`{"n": 1, "a": ["n", "n", {"n": "n"}]}`:  "",
		`{"n": 1, "a": "\",\"n\":{"}`:            "",
	} {
		t.Run(text, func(t *testing.T) {
			var got []int
			_, problems, err := Read(write(t, "{\"n\": 0}\n"+text), true, refuseFour(&got))
			switch {
			case err != nil:
				t.Fatal(err)
			case want == "" && (len(problems) > 0 || !slices.Equal(got, []int{0, 1})):
				t.Errorf("read %v with the problems %v, want 0, 1 and none", got, problems)
			case want != "" && (len(problems) != 1 || !strings.Contains(problems[0].String(), "tasks.json:2: "+want)):
				t.Errorf("got the problems %v, want one of line 2: %s", problems, want)
			}

			_, _, err = Read(write(t, text), false, refuseFour(new([]int)))
			if want == "" {
				return
			}
			if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), ":1: record 1: "+want) {
				t.Errorf("without skip: %v, want an invalid fault: %s", err, want)
			}
		})
	}
}

func TestFilesWithoutRecordsAreNamedOrSkipped(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe.json")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link.json")
	if err := os.Symlink("nowhere", link); err != nil {
		t.Fatal(err)
	}
	const lfs = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"
	named := func(name, text string) string {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	for name, test := range map[string]struct{ file, want string }{
		"empty":           {write(t, ""), "tasks.json is empty"},
		"only white":      {write(t, "\r\n \t\n"), "tasks.json is empty"},
		"empty array":     {write(t, "[]"), "tasks.json has no records"},
		"no objects":      {write(t, "no objects"), "tasks.json has no records"},
		"missing":         {filepath.Join(t.TempDir(), "none"), "none: no such file"},
		"Git LFS":         {write(t, lfs), "tasks.json is a pointer of Git LFS, not the data: call `git lfs pull`"},
		"macOS":           {named("._tasks.json", "\x00\x05\x16\x07{}"), "._tasks.json is no data"},
		"macOS, a folder": {named(".DS_Store", "\x00\x00\x00\x01Bud1{}"), ".DS_Store is no data"},
		"Windows":         {named("Thumbs.db", "{}"), "Thumbs.db is no data"},
		"a pipe":          {pipe, "pipe.json is no regular file"},
		"a folder":        {t.TempDir(), "is no regular file"},
		"a dead link":     {link, "link.json: no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []int
			_, _, err := Read(test.file, false, refuseFour(&got))
			if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an invalid fault with %q", err, test.want)
			}
			digest, problems, err := Read(test.file, true, refuseFour(&got))
			if err != nil || digest != "" || !strings.Contains(Summary(problems), test.want) {
				t.Errorf("skipped: got digest %q, %v, %v; want a problem with %q", digest, problems, err, test.want)
			}
		})
	}
}

func TestASummaryCountsAllProblemsAndNamesTheFirst(t *testing.T) {
	var all []Problem
	for line := range 7 {
		all = append(all, Problem{Where{File: "f", Line: line + 1}, errors.New("x")})
	}
	if got, want := Summary(all), "skipped 7: f:1: x, f:2: x, f:3: x, f:4: x, f:5: x, and 2 more"; got != want {
		t.Errorf("Summary = %q, want %q", got, want)
	}
}
