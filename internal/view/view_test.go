package view_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/view"
	"github.com/collabui/collabui/test/kit/testrun"
)

// document reads a document of a library as a page does.
func document(t testing.TB, l *view.Library, path string) any {
	t.Helper()
	body, err := l.Document(t.Context(), path)
	if err != nil {
		t.Fatalf("document %s: got %v, want no error", path, err)
	}
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}

	return out
}

// at returns the value at a path in a document: keys of objects and indices of lists.
func at(t testing.TB, doc any, path ...any) any {
	t.Helper()
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, ok := doc.(map[string]any)
			if !ok {
				t.Fatalf("%v: got %T, want an object with %q", path, doc, p)
			}
			doc = m[p]
		case int:
			list, ok := doc.([]any)
			if !ok || p >= len(list) {
				t.Fatalf("%v: got %v, want a list with element %d", path, doc, p)
			}
			doc = list[p]
		}
	}

	return doc
}

// TestANameIsUsedAgain deletes a run whose lines were read, and makes another run of the same name, without pairs.
func TestANameIsUsedAgain(t *testing.T) {
	var b, other store.Memory
	l := library(&b, 1)
	run := crafted(t, &b)
	rows := "rows/" + string(run) + "/1"
	if got := at(t, document(t, l, rows), 0, "pairs"); got != 2.0 {
		t.Fatalf("slot 1 has %v pairs, want 2", got)
	}

	crafted(t, &other, func(s *spec.Spec) { s.Seed = 2 })
	other.Damage(run.Pairs(1, 1).Key, nil)
	record(t, &other, run.Pairs(1, 1), runs.Pairs{})
	l.Bucket = &other
	if got := at(t, document(t, l, rows), 0, "pairs"); got != nil {
		t.Errorf("slot 1 of the run that has the name now has %v pairs, want none", got)
	}
}

func TestLinesAboutEpisodesOfEveryKind(t *testing.T) {
	var b store.Memory
	run := crafted(t, &b)
	rows := document(t, library(&b, 1), "rows/"+string(run)+"/1")

	if got := len(rows.([]any)); got != 4 {
		t.Fatalf("got %d lines, want 4: slot 5 has not begun", got)
	}
	for _, c := range []struct {
		slot int
		key  string
		want any
	}{
		{0, "state", "solved"}, {0, "labels", []any{3.0, 1.0, 0.0}}, {0, "wrong", []any{1.0, 0.0}},
		{0, "judged", 4.0}, {0, "against", 1.0}, {0, "pairs", 2.0}, {0, "ties", 1.0}, {0, "changed", 1.0},
		{0, "tokens", 440.0}, {0, "surprise", 2.0}, {0, "graded", true},
		{1, "state", "failed"}, {1, "steps", 0.0},
		{2, "state", "not solved"}, {2, "void", 1.0}, {2, "refused", 1.0}, {2, "unparsed", 1.0}, {2, "pairs", nil},
		{3, "state", "open"}, {3, "steps", 1.0},
	} {
		if got := at(t, rows, c.slot, c.key); !reflect.DeepEqual(got, c.want) {
			t.Errorf("slot %d, %s: got %v, want %v", c.slot+1, c.key, got, c.want)
		}
	}
}

func TestDetailsOfAnEpisode(t *testing.T) {
	var b store.Memory
	run := crafted(t, &b)
	l := library(&b, 1)
	d := at(t, document(t, l, "episodes/"+string(run)+"/1/1"), "1")

	for _, c := range []struct {
		path []any
		want any
	}{
		{[]any{"seed"}, "18446744073709551615"}, // more than the numbers of a script can represent
		{[]any{"edges"}, []any{[]any{0.0, 1.0}}}, {[]any{"rounds"}, 2.0}, {[]any{"steps", 0, "action", "on"}, 0.0},
		{[]any{"steps", 0, "cells", 1, "label"}, 0.0}, {[]any{"steps", 0, "cells", 1, "judge"}, 0.0},
		{[]any{"steps", 0, "cells", 2, "label"}, 1.0}, {[]any{"steps", 0, "cells", 2, "judge"}, 0.0},
		{[]any{"steps", 0, "seen", 1}, []any{0.0}}, {[]any{"steps", 0, "pairs", 0, "source"}, "adversary"},
		{[]any{"steps", 0, "vote", "rule"}, "last-round"},
	} {
		if got := at(t, d, c.path...); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v: got %v, want %v", c.path, got, c.want)
		}
	}
	open := at(t, document(t, l, "episodes/"+string(run)+"/1/4"), "4")
	if got := len(at(t, open, "steps").([]any)); got != 1 {
		t.Errorf("an open episode has %d steps, want the one that is recorded", got)
	}
	void := at(t, document(t, l, "episodes/"+string(run)+"/1/3"), "3", "void", 0).(string)
	if !strings.HasPrefix(void, "the browser died") {
		t.Errorf("the attempt before is said to be %q, want why it does not count", void)
	}
}

func TestWhatIsNotThereIsNotFound(t *testing.T) {
	var b store.Memory
	crafted(t, &b)
	l := library(&b, 1)
	for _, path := range []string{
		"run/other", "episodes/crafted/1/5", "rows/crafted/2", "evalrows/crafted/a/b/c", "evaluations/crafted/a/b/c/1",
		"experiment/other", "line/other", "nothing/crafted", "rows/crafted/1/2",
	} {
		if _, err := l.Document(t.Context(), path); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("document %s: got %v, want an error that says it is not there", path, err)
		}
	}
	for _, path := range []string{"rows/crafted/-1", "rows/crafted/x", "episodes/crafted/1/../1"} {
		if _, err := l.Document(t.Context(), path); err == nil {
			t.Errorf("document %s: got no error, want one", path)
		}
	}
}

func TestFiguresAreThoseOfTheRecords(t *testing.T) {
	r, end := testrun.Learned(t)
	l := library(r.Bucket, 50)
	run := r.Spec.Name
	page := document(t, l, "run/"+run)

	for i, e := range at(t, page, "epochs").([]any) {
		rows := document(t, l, "rows/"+run+"/"+[]string{"1", "2"}[i]).([]any)
		solved, pairs := 0.0, 0.0
		for _, x := range rows {
			if at(t, x, "state") == "solved" {
				solved++
			}
			if n, ok := at(t, x, "pairs").(float64); ok {
				pairs += n
			}
		}
		if got := at(t, e, "rollouts", "successes"); got != solved || at(t, e, "pairs") != pairs {
			t.Errorf("epoch %d: got %v solved and %v pairs in the lists, want those of the commit, %v and %v",
				i+1, solved, pairs, got, at(t, e, "pairs"))
		}
	}
	if got, want := len(at(t, page, "evaluations").([]any)), len(end.Results); got < want {
		t.Errorf("got %d evaluations, want at least the %d results", got, want)
	}
	for _, e := range at(t, page, "evaluations").([]any) {
		rows := document(t, l, "evalrows/"+run+"/"+at(t, e, "id").(string)).([]any)
		right := 0.0
		for _, x := range rows {
			if at(t, x, "success") == true {
				right++
			}
		}
		if want := at(t, e, "result", "successes"); right != want {
			t.Errorf("%v: got %v successes in the list, want those of the result, %v", at(t, e, "id"), right, want)
		}
		d := at(t, document(t, l, "evaluations/"+run+"/"+at(t, e, "id").(string)+"/1"), "1")
		if at(t, d, "goal") == "" || at(t, d, "steps", 0, "screen", "elements") == nil {
			t.Errorf("%v: got %v, want an episode with a goal and a screen", at(t, e, "id"), d)
		}
	}
}

func TestAReportAppearsWholeOrNotAtAll(t *testing.T) {
	var b store.Memory
	run := crafted(t, &b)
	dir := t.TempDir()
	none := func(string) {}

	other := view.Contents{Runs: []string{"other"}}
	err := library(&b, 1).Report(t.Context(), filepath.Join(dir, "no"), other, none)
	if !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a report of a run that does not exist: got %v, want not found", err)
	}
	c := view.Contents{Runs: []string{string(run)}}
	for _, again := range []bool{false, true} {
		err := library(&b, 1).Report(t.Context(), filepath.Join(dir, "yes"), c, none)
		if (err != nil) != again {
			t.Errorf("a report into what exists (%v): got %v, want an error the second time", again, err)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("got %v (%v), want the one report alone", left, err)
	}
}

func TestWhatPagesUseOfOthersIsAsPublished(t *testing.T) {
	sums, err := os.ReadFile("site/vendor/SHA256SUMS")
	if err != nil {
		t.Fatal(err)
	}
	scripts, err := filepath.Glob("site/vendor/*.js")
	if err != nil || len(scripts) != strings.Count(string(sums), "\n") {
		t.Fatalf("got the scripts %v (%v), want one for each line of\n%s", scripts, err, sums)
	}
	for line := range strings.Lines(string(sums)) {
		f := strings.Fields(line)
		raw, err := os.ReadFile("site/vendor/" + f[1])
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(raw)); got != f[0] {
			t.Errorf("%s has the hash %s, want %s", f[1], got, f[0])
		}
	}
}
