package runs_test

import (
	"strings"
	"testing"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

func TestNotesHaveATextAndLeadToPagesOnly(t *testing.T) {
	var b store.Memory
	s := spec.Default()
	s.Name = "noted"
	run := runs.Run(s.Name)
	if _, _, err := run.Spec().Record(t.Context(), &b, func() (spec.Spec, error) { return s, nil }); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		why, link string
		ok        bool
	}{
		{"look", "", true}, {"look", "#/episode/noted/1/3/2/0.1", true}, {" ", "", false},
		{strings.Repeat("x", 5000), "", false}, {"look", "javascript:alert(1)", false},
		{"look", "https://example.org", false}, {"look", "#/\nx", false}, {"look", "#/" + strings.Repeat("x", 400), false},
	} {
		err := run.Note(t.Context(), &b, runs.Change{Who: "me", Why: c.why, Link: c.link})
		if ok := err == nil; ok != c.ok || !ok && fault.KindOf(err) != fault.Invalid {
			t.Errorf("a note %.10q about %.40q: got %v, want it taken: %v", c.why, c.link, err, c.ok)
		}
	}
	all, err := run.Changes(t.Context(), &b, 0, 0)
	if err != nil || len(all) != 2 || all[1].Verb != runs.VerbNote {
		t.Errorf("got %+v, %v, want two notes", all, err)
	}
	if err := runs.Run("other").Note(t.Context(), &b, runs.Change{Why: "x"}); err == nil {
		t.Error("a note about a run that does not exist was taken, want an error")
	}
}
