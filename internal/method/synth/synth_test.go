package synth

import (
	"context"
	"strings"
	"testing"

	"github.com/collabui/collabui/internal/method/chat"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/prompts"
	"github.com/collabui/collabui/internal/policy/tinylm"
)

func screen() Screen {
	two := 2
	o := domain.Observation{Elements: []domain.Element{
		{Index: 0, Role: "heading", Text: "Sign in", Visible: true},
		{Index: 1, Role: "label", Text: "Nickname", Visible: true, Target: &two},
		{Index: 2, Role: "field", Text: "User", Editable: true, Value: "ann", Visible: true},
		{Index: 3, Role: "checkbox", Text: "Remember", State: []string{"checked"}, Visible: true},
		{Index: 4, Role: "button", Text: "Login", Visible: true},
		{Index: 5, Role: "button", Text: "Below"},
		{Index: 6, Role: "button", Text: "Covered", Visible: true, Occluded: true},
		{Index: 7, Role: "switch", Text: "Sound", State: []string{"off"}, Visible: true},
		{Index: 8, Role: "button", Text: "Twice", Visible: true}, {Index: 9, Role: "link", Text: "twice", Visible: true},
	}}
	after := domain.Observation{Elements: []domain.Element{{Index: 0, Role: "button", Text: "Log out", Visible: true}, {Index: 1, Role: "heading", Text: "Welcome", Visible: true}}}
	a := domain.Action{Type: domain.ActionClick}.At(4)
	return Screen{Step: 2, Observation: o, Action: &a, After: &after}
}

func act(kind string, index int, text string) domain.Action {
	return domain.Action{Type: kind, Text: text}.At(index)
}

func TestActionsAreValidatedAgainstTheScreen(t *testing.T) {
	for want, list := range map[string][]domain.Action{
		"":           {act(domain.ActionClick, 4, ""), act(domain.ActionInputText, 2, "x"), act(domain.ActionInputText, 1, "through its label"), {Type: domain.ActionBack}},
		DropElement:  {act(domain.ActionClick, 99, ""), act(domain.ActionClick, -1, "")},
		DropHidden:   {act(domain.ActionClick, 5, ""), act(domain.ActionLongPress, 6, "")},
		DropReadOnly: {act(domain.ActionInputText, 4, "x")},
		DropAction:   {{Type: "fly"}, {Type: domain.ActionClick}, act(domain.ActionClick, 4, "x")},
	} {
		for _, a := range list {
			if got := Valid(a, screen().Observation); got != want {
				t.Errorf("%s: %q, want %q", a.JSON(), got, want)
			}
		}
	}
}

// small is the embedded policy's side.
func small(share float64) Target {
	return Target{Template: agents.Default, Render: tinylm.Render, Fits: tinylm.Fits, Share: share, Agents: 4}
}

func TestTheTemplateSaysOnlyWhatTheScreenAllows(t *testing.T) {
	kinds, right := map[string]int{}, map[string]string{"Tap Login": "click index=4", "Turn on Sound": "click index=7", "Check Remember": `status goal_status="complete"`, "Turn off Remember": "click index=3", "Which element leads to Welcome": "click index=4",
		"What does User hold": `answer text="ann"`, "What is this screen": `answer text="sign in"`, "Set User to ann": `status goal_status="complete"`}
	for seed := range uint64(200) {
		for level := 1; level <= 2; level++ {
			b := Batch{Counts: NewItemCounts()}
			if err := b.Write(t.Context(), Template{}, small(0.5), level, 6, domain.Pair{Template: "t"}, screen(), seed); err != nil {
				t.Fatal(err)
			}
			if why := b.Counts.Problem(); why != "" && !strings.Contains(why, "screens") || len(b.Counts.Dropped) > 0 || b.Counts.Asked != 1 {
				t.Fatalf("level %d: %s %+v", level, why, b.Counts)
			}
			for _, p := range b.Rows {
				goal, _, _ := strings.Cut(strings.TrimPrefix(p.Prompt, "Goal: "), "\n")
				kinds[KindOf(level, p)]++
				if want, ok := right[goal]; ok && p.ChosenCanonical != want {
					t.Errorf("%q: %s, want %s", goal, p.ChosenCanonical, want)
				}
				if strings.Contains(strings.ToLower(goal), "twice") || strings.Contains(goal, "Below") || strings.Contains(goal, "Covered") {
					t.Errorf("%q asks for what cannot be told apart or seen", goal)
				}
			}
		}
	}
	for _, k := range []string{KindPurpose, KindFunction, KindInformation, KindEffect, "click", "input_text", "status", "navigate_back"} {
		if kinds[k] == 0 {
			t.Errorf("no item of kind %s in %v", k, kinds)
		}
	}
}

// says is a chat model with one answer.
type says struct {
	text  string
	asked []chat.Request
}

func (s *says) Complete(_ context.Context, q chat.Request) (chat.Response, error) {
	s.asked = append(s.asked, q)
	return chat.Response{Texts: []string{s.text}}, nil
}

func author(t *testing.T, text string) (Model, *says) {
	t.Helper()
	model := &says{text: text}
	m := Model{Chat: model, Forms: prompts.FormsOf("mobile"), Image: func(context.Context, string) ([]byte, error) { return []byte("png"), nil }}
	role := prompts.Questions
	if strings.Contains(text, "instruction") {
		role = prompts.Instructions
	}
	raw, err := prompts.Default(role)
	if err == nil {
		m.Prompt, err = prompts.Parse(raw)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m, model
}

func TestWhatAModelWritesIsTakenAsDataAndCounted(t *testing.T) {
	m, model := author(t, "Sure!\n```json\n"+`{"items":[{"instruction":"Log in","reason":"r","action":{"action_type":"click","index":4}},{"instruction":"","reason":"r","action":{"action_type":"click","index":4}},
{"instruction":"x","action":{"action_type":"click","index":99}},{"instruction":"y","action":"click"},7,{"instruction":"done","action":{"action_type":"status","goal_status":"complete"}},{"instruction":"done 2","action":{"action_type":"status","goal_status":"complete"}},
{"instruction":"done 3","action":{"action_type":"status","goal_status":"complete"}},{"instruction":"say","action":{"action_type":"answer","text":"Sign in"}},{"instruction":"say 2","action":{"action_type":"answer","text":"Login"}},{"instruction":"too many","action":{"action_type":"wait"}}]}`+"\n```")
	m.Images = true
	s := screen()
	s.Image = "d"
	b := Batch{Counts: NewItemCounts()}
	if err := b.Write(t.Context(), m, Target{Template: agents.Default}, 2, 10, domain.Pair{}, s, 1); err != nil {
		t.Fatal(err)
	}
	n := b.Counts
	if n.Proposed != 10 || n.Kept != 4 || n.Dropped[DropEmpty] != 2 || n.Dropped[DropElement] != 1 || n.Dropped[DropAction] != 1 || n.Dropped[DropComplete] != 1 || n.Dropped[DropAnswer] != 1 || n.ByKind["status"] != 2 {
		t.Errorf("%+v", n)
	}
	if q := model.asked[0]; len(q.Images) != 1 || q.Schema.Name != "instructions" || !strings.Contains(q.User, "| 4 button Login\n") || !strings.Contains(q.System, "with a screenshot") || b.Rows[0].Image != "d" || b.Rows[0].Chosen != "Reason: r\nAction: {\"action_type\":\"click\",\"index\":4}" {
		t.Errorf("%+v\n%+v", q, b.Rows)
	}
	m, model = author(t, `{"items":[{"kind":"Purpose","question":"What is it","answer":"A form to sign in"},{"kind":"function","question":"Which logs in","answer":"","element":4},{"kind":"odd","question":"q","answer":"a"},{"kind":"effect","question":"q"}]}`)
	b = Batch{Counts: NewItemCounts()}
	if err := b.Write(t.Context(), m, Target{Template: agents.Default}, 1, 6, domain.Pair{}, screen(), 1); err != nil {
		t.Fatal(err)
	}
	if b.Counts.Kept != 2 || b.Counts.Dropped[DropKind] != 1 || b.Counts.Dropped[DropEmpty] != 1 || b.Rows[0].Chosen != "A form to sign in" || b.Rows[1].Chosen != "Element 4" || !strings.HasPrefix(b.Rows[0].Prompt, "Screen:\n0 heading Sign in\n") || !strings.HasSuffix(b.Rows[0].Prompt, "Question: What is it") {
		t.Errorf("%+v %+v", b.Counts, b.Rows)
	}
	if u := model.asked[0].User; !strings.Contains(u, "Done here:\n| 2 click button Login\nIt led to:\n| 0 button Log out\n") {
		t.Error(u)
	}
	for _, bad := range []string{"", "no", `{"items":3}`, `{"items":[`} {
		m, _ = author(t, bad)
		b = Batch{Counts: NewItemCounts()}
		if err := b.Write(t.Context(), m, Target{Template: agents.Default}, 1, 6, domain.Pair{}, screen(), 1); err != nil || b.Counts.Unanswered != 1 || b.Counts.Proposed != 0 {
			t.Errorf("%q: %+v %v", bad, b.Counts, err)
		}
	}
}

func TestCountersThatDoNotAddUpAreFound(t *testing.T) {
	for what, spoil := range map[string]func(*ItemCounts){"screens": func(c *ItemCounts) { c.Screens++ }, "unanswered": func(c *ItemCounts) { c.Unanswered = 9 }, "proposed": func(c *ItemCounts) { c.Dropped[DropEmpty]++ }, "kinds": func(c *ItemCounts) { c.ByKind["x"]++ }} {
		c := NewItemCounts()
		c.Add(ItemCounts{Screens: 5, Failed: 1, First: 1, Over: 1, Asked: 2, Proposed: 3, Kept: 2, Dropped: map[string]int{DropElement: 1}, ByKind: map[string]int{"click": 2}})
		if why := c.Problem(); why != "" {
			t.Fatal(why)
		}
		if spoil(&c); !strings.Contains(c.Problem(), what) {
			t.Errorf("%s: %q", what, c.Problem())
		}
	}
	c := NewItemCounts()
	c.Add(ItemCounts{Proposed: 3, Kept: 3, ByKind: map[string]int{"click": 2, "wait": 1}})
	rows := Dedupe([]domain.Pair{{Prompt: "p", Chosen: "a", ChosenCanonical: "click index=1"}, {Prompt: "p", Chosen: "a", ChosenCanonical: "click index=1"}, {Prompt: "p", Chosen: "b", ChosenCanonical: "wait"}}, &c, func(p domain.Pair) string { return KindOf(2, p) })
	if len(rows) != 2 || c.Kept != 2 || c.Dropped[DropDuplicate] != 1 || c.Problem() != "" {
		t.Errorf("%d rows, %+v", len(rows), c)
	}
}

func TestRowsOfOnesOwnAreReadStrictly(t *testing.T) {
	const ok = `{"prompt":"Goal: x","chosen":"Action: {\"action_type\":\"wait\"}"}`
	for text, want := range map[string]string{
		ok + "\n\n" + `{"prompt":[{"role":"user","content":"u"}],"chosen":[{"role":"assistant","content":"Action: {\"action_type\":\"wait\"}"}],"rejected":{"role":"assistant","content":"no"}}`: "",
		"":                  "f: holds no row",
		ok + "\nnonsense":   "f:2: is no JSON object",
		`{"prompt":"x"}`:    "f:1: chosen: expected a text",
		`{"chosen":"x"}`:    "f:1: prompt: expected a text or a list",
		`{"messages":[{}]}`: "f:1: messages: expected at least two turns",
		`{"prompt":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}],"chosen":"c"}`: `f:1: prompt: expected one message of the user, and perhaps one of the system; found role "assistant"`,
		`{"prompt":"x","chosen":"c"}`: "f:1: chosen: answer has no 'Action: {json}'",
		`{"prompt":"x","chosen":"Action: {\"action_type\":\"wait\"}","rejected":"Action: {\"action_type\":\"wait\"}"}`: "f:1: chosen and rejected are the same text",
	} {
		rows, err := ReadRows("f", []byte(text), 2)
		if want == "" && (err != nil || len(rows) != 2 || rows[1].Rejected != "no" || rows[1].Slot != 3) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %+v %v, want %s", text, rows, err, want)
		}
	}
	if rows, err := ReadRows("f", []byte(`{"prompt":"q","chosen":"free words"}`), 1); err != nil || rows[0].Chosen != "free words" {
		t.Error(rows, err)
	}
}

func FuzzItems(f *testing.F) {
	for _, s := range []string{"", `{"items":[{"kind":"purpose","question":"q","answer":"a","element":1}]}`, `{"items":[{"instruction":"i","action":{"action_type":"click","index":1}}]}`, `{"items":[1,{},null,{"action":{"action_type":"input_text"}}]}`, "```{\"items\":[", `{"items":{"a":1}}`} {
		f.Add(s)
	}
	s := screen()
	f.Fuzz(func(t *testing.T, text string) {
		for level := 1; level <= 2; level++ {
			b := Batch{Counts: NewItemCounts()}
			m := Model{Chat: &says{text: text}}
			m.Prompt = blank
			if err := b.Write(t.Context(), m, small(0.5), level, 5, domain.Pair{}, s, 1); err != nil {
				t.Fatal(err)
			}
			n := b.Counts
			n.Screens = n.Asked
			if why := n.Problem(); why != "" || n.Proposed > 5 {
				t.Errorf("%q: %s", text, why)
			}
			for _, p := range b.Rows {
				if !tinylm.Fits(p.Prompt, p.Chosen) {
					t.Errorf("%q gave %q", text, p.Chosen)
				}
			}
		}
	})
}

var blank = func() *prompts.Prompt {
	p, err := prompts.Parse(`{{/* version 1 */}}{{define "system"}}s{{end}}{{define "user"}}u{{end}}`)
	if err != nil {
		panic(err)
	}
	return p
}()

func FuzzReadRows(f *testing.F) {
	for _, s := range []string{"", `{"prompt":"p","chosen":"c"}`, `{"messages":[{"role":"user","content":"u"},{"role":"assistant","content":"a"}]}`, `{"prompt":[{"role":"user","content":"u"}],"chosen":[{"role":"assistant","content":"a"}],"rejected":null}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		rows, err := ReadRows("f", []byte(text), 1)
		if (err == nil) != (len(rows) > 0) {
			t.Errorf("%q: %d rows, %v", text, len(rows), err)
		}
		for _, p := range rows {
			if p.Prompt == "" || p.Chosen == "" || p.Chosen == p.Rejected {
				t.Errorf("%q gave %+v", text, p)
			}
		}
	})
}
