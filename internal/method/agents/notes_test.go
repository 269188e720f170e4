package agents

import (
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
)

func TestANoteIsALineBeforeTheAction(t *testing.T) {
	const action = "\nAction: {\"action_type\":\"wait\"}"
	for name, c := range map[string]struct{ text, want string }{
		"none":                  {"Reason: r" + action, ""},
		"a note":                {"Reason: r\nNote: Ann has 4711" + action, "Ann has 4711"},
		"the last one counts":   {"Note: a\nNote:  b " + action, "b"},
		"after the action":      {"Reason: r" + action + "\nNote: b", ""},
		"in the reason":         {"Reason: see Note: b" + action, ""},
		"without an action":     {"Note: b", "b"},
		"as demonstrations do":  {WithNote("Reason: r"+action, "b"), "b"},
		"nothing to be noted":   {WithNote("Reason: r"+action, ""), ""},
		"an answer without any": {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := NoteOf(c.text); got != c.want {
				t.Errorf("NoteOf(%q) = %q, want %q", c.text, got, c.want)
			}
		})
	}
}

func TestNotesStayAtTheEndOfTheHistoryAndAreBounded(t *testing.T) {
	limits := SmallLimits
	limits.Notes = 20
	var history []string
	for _, step := range []struct {
		line, note string
		want       []string
	}{
		{"1 click a", "", []string{"1 click a"}},
		{"2 click b", "Ann has 4711", []string{"1 click a", "2 click b", "Notes: Ann has 4711"}},
		{"3 wait", "", []string{"1 click a", "2 click b", "3 wait", "Notes: Ann has 4711"}},
		{"4 wait", "x", []string{"1 click a", "2 click b", "3 wait", "4 wait", "Notes: Ann has 4711 | x"}},
		{"5 wait", "Ann has 4711", []string{
			"1 click a", "2 click b", "3 wait", "4 wait", "5 wait", "Notes: x | Ann has 4711",
		}},
		{"6 wait", "Bob has 12", []string{
			"1 click a", "2 click b", "3 wait", "4 wait", "5 wait", "6 wait", "Notes: Bob has 12",
		}},
	} {
		before := slices.Clone(history)
		got := limits.Remember(history, step.line, step.note)
		if !slices.Equal(got, step.want) || !slices.Equal(history, before) {
			t.Fatalf("Remember(%q, %q) = %q, want %q", step.line, step.note, got, step.want)
		}
		history = got
	}

	long := limits.Remember(nil, "1 wait", strings.Repeat("word ", 30))
	if got := limits.HistoryLine(long[1]); got != long[1] || !strings.HasSuffix(got, "…") || len(got) > 40 {
		t.Errorf("a long note becomes %q, want a line that prompts show whole", got)
	}
}

func TestTheNoteOfTheExecutedActionIsKept(t *testing.T) {
	c := Config{Policies: []string{"a", "b", "c"}, Rounds: 2, VoteScope: ScopeAll, Notes: true}
	cell := func(agent, round int, note, action string) domain.Cell {
		return NewCell(agent, round, WithNote("Reason: r\nAction: "+action, note), "x", domain.Observation{})
	}
	const wait = `{"action_type":"wait"}`
	const back = `{"action_type":"navigate_back"}`
	d := domain.Decision{Cells: []domain.Cell{
		cell(0, 0, "first round", wait), cell(0, 1, "", wait),
		cell(1, 0, "", wait), cell(1, 1, "of the winner", wait),
		cell(2, 0, "", back), cell(2, 1, "of another", back),
	}}
	d.AllRound = Count(d.Cells, c.Rounds, []int{0, 1, 2}, false)
	if got := c.Note(d); got != "of the winner" {
		t.Errorf("Note = %q, want the note of the newest cell with the executed action", got)
	}
	c.Notes = false
	if got := c.Note(d); got != "" {
		t.Errorf("Note = %q of agents that keep no notes, want none", got)
	}
}

func TestFitKeepsTheNotesAndTheNewestStep(t *testing.T) {
	view := View{Goal: "g", History: []string{"1 one", "2 two", "3 three", "Notes: Ann has 4711"}}
	text, left, err := Default.Bounded(func(user string) int {
		return max(0, len(strings.Fields(user))-13)
	}).Fit(view, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if left.History != 2 || !strings.Contains(text, "3 three\nNotes: Ann has 4711\n") {
		t.Errorf("the prompt lacks %+v: %q; want the newest step and the notes in it", left, text)
	}
}
