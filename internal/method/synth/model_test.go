package synth

import (
	"context"
	"maps"
	"strings"
	"testing"

	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/prompts"
	"github.com/collabui/collabui/internal/policy/tinylm"
)

// scriptedModel is a chat model that always returns the same answer.
type scriptedModel struct {
	text  string
	asked []chat.Request
}

func (s *scriptedModel) Complete(_ context.Context, q chat.Request) (chat.Response, error) {
	s.asked = append(s.asked, q)

	return chat.Response{Texts: []string{s.text}}, nil
}

// author returns an author that is a chat model with one answer.
func author(t *testing.T, role, text string) (Model, *scriptedModel) {
	t.Helper()
	raw, err := prompts.Default(role)
	if err != nil {
		t.Fatal(err)
	}
	p, err := prompts.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	model := &scriptedModel{text: text}

	return Model{
		Chat:   model,
		Prompt: p,
		Forms:  prompts.FormsOf("mobile"),
	}, model
}

const instructions = "Sure!\n```json\n" + `{"items":[
{"instruction":"Log in","reason":"r","action":{"action_type":"click","index":4}},
{"instruction":"","reason":"r","action":{"action_type":"click","index":4}},
{"instruction":"x","action":{"action_type":"click","index":99}},
{"instruction":"y","action":"click"},
7,
{"instruction":"done","action":{"action_type":"status","goal_status":"complete"}},
{"instruction":"done 2","action":{"action_type":"status","goal_status":"complete"}},
{"instruction":"done 3","action":{"action_type":"status","goal_status":"complete"}},
{"instruction":"say","action":{"action_type":"answer","text":"Sign in"}},
{"instruction":"say 2","action":{"action_type":"answer","text":"Login"}},
{"instruction":"too many","action":{"action_type":"wait"}}]}` + "\n```"

func TestInstructionsOfAModelAreTakenAsDataAndCounted(t *testing.T) {
	m, model := author(t, prompts.Instructions, instructions)
	m.Images = true
	s := screen()
	s.Image = "d"
	b := write(t, m, largeTarget(), 2, 10, s, 1)

	if b.Counts.Proposed != 10 || b.Counts.Kept != 4 || b.Counts.ByKind["status"] != 2 {
		t.Errorf("%+v, want 10 proposed, 4 kept and 2 of them status", b.Counts)
	}
	want := map[string]int{DropEmpty: 2, DropElement: 1, DropAction: 1, DropComplete: 1, DropAnswer: 1}
	if !maps.Equal(b.Counts.Dropped, want) {
		t.Errorf("dropped %v, want %v", b.Counts.Dropped, want)
	}
	first, chosen := b.Rows[0], "Reason: r\nAction: {\"action_type\":\"click\",\"index\":4}"
	if first.Image != "d" || first.Chosen != chosen {
		t.Errorf("the first one has image %q and answer %q, want d and %q", first.Image, first.Chosen, chosen)
	}

	q := model.asked[0]
	if len(q.Images) != 1 || !strings.Contains(q.System, "with a screenshot") {
		t.Errorf("asked with %d images and\n%s\nwant one image", len(q.Images), q.System)
	}
	if q.Schema.Name != "instructions" || !strings.Contains(q.User, "| 4 button Login\n") {
		t.Errorf("asked for %s with\n%s\nwant instructions for the screen", q.Schema.Name, q.User)
	}
}

const questions = `{"items":[
{"kind":"Purpose","question":"What is it","answer":"A form to sign in"},
{"kind":"function","question":"Which logs in","answer":"","element":4},
{"kind":"odd","question":"q","answer":"a"},
{"kind":"effect","question":"q"}]}`

func TestQuestionsOfAModelAreTakenAsDataAndCounted(t *testing.T) {
	m, model := author(t, prompts.Questions, questions)
	b := write(t, m, largeTarget(), 1, 6, screen(), 1)

	if want := map[string]int{DropKind: 1, DropEmpty: 1}; b.Counts.Kept != 2 || !maps.Equal(b.Counts.Dropped, want) {
		t.Fatalf("%+v, want 2 kept and %v dropped", b.Counts, want)
	}
	for i, want := range []string{"A form to sign in", "Element 4"} {
		if got := b.Rows[i].Chosen; got != want {
			t.Errorf("answer %d is %q, want %q", i, got, want)
		}
	}
	prompt := b.Rows[0].Prompt
	if !strings.HasPrefix(prompt, "Screen:\n0 heading Sign in\n") ||
		!strings.HasSuffix(prompt, "Question: What is it") {
		t.Errorf("prompt\n%s\nwant the screen and the question", prompt)
	}
	done := "Done here:\n| 2 click button Login\nIt led to:\n| 0 button Log out\n"
	if u := model.asked[0].User; !strings.Contains(u, done) {
		t.Errorf("asked\n%s\nwant it with\n%s", u, done)
	}
}

func TestAnAnswerThatCannotBeReadIsUnanswered(t *testing.T) {
	for name, bad := range map[string]string{
		"empty": "", "words": "no", "no list": `{"items":3}`, "truncated": `{"items":[`,
	} {
		t.Run(name, func(t *testing.T) {
			m, _ := author(t, prompts.Questions, bad)
			b := write(t, m, largeTarget(), 1, 6, screen(), 1)
			if b.Counts.Unanswered != 1 || b.Counts.Proposed != 0 {
				t.Errorf("%+v, want 1 unanswered and nothing proposed", b.Counts)
			}
		})
	}
}

func FuzzItems(f *testing.F) {
	for _, s := range []string{
		"",
		`{"items":[{"kind":"purpose","question":"q","answer":"a","element":1}]}`,
		`{"items":[{"instruction":"i","action":{"action_type":"click","index":1}}]}`,
		`{"items":[1,{},null,{"action":{"action_type":"input_text"}}]}`,
		"```{\"items\":[",
		`{"items":{"a":1}}`,
	} {
		f.Add(s)
	}
	p, err := prompts.Parse(`{{/* version 1 */}}{{define "system"}}s{{end}}{{define "user"}}u{{end}}`)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for level := 1; level <= 2; level++ {
			b := write(t, Model{Chat: &scriptedModel{text: text}, Prompt: p}, smallTarget(0.5), level, 5, screen(), 1)
			n := b.Counts
			n.Screens = n.Asked
			if why := n.Problem(); why != "" || n.Proposed > 5 {
				t.Errorf("%q: %s, %d proposed; want at most 5 and counts that add up", text, why, n.Proposed)
			}
			for _, p := range b.Rows {
				if !tinylm.Fits(p.Prompt, p.Chosen) {
					t.Errorf("%q makes %q, want an answer that the policy can give", text, p.Chosen)
				}
			}
		}
	})
}
