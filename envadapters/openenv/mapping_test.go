package openenv

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/domain/templates"
	"github.com/collabui/collabui/envadapters"
)

// gym is a server like BrowserGym's, with fields of its own. It records the requests without their spaces.
type gym struct {
	mu    sync.Mutex
	heard []string
}

func (g *gym) answer(_ int, f frame) (string, time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.heard = append(g.heard, strings.ReplaceAll(string(f.Type)+" "+string(f.Data), " ", ""))

	if strings.Contains(string(f.Data), "noop") {
		return `{"type":"error","data":{"code":"VALIDATION_ERROR","message":"no such action"}}`, 0
	}

	type data = map[string]any
	answer := data{"done": false, "reward": nil, "observation": data{
		"goal": data{"text": "Log in"},
		"tree": "RootWebArea 'x'\n\t[12] textbox 'Name'\n  [a7] button 'Log in'\n",
	}}
	if strings.Contains(string(f.Data), "send_msg") {
		answer["done"], answer["reward"] = true, true
	}
	b, _ := json.Marshal(data{"type": "observation", "data": answer})

	return string(b), 0
}

// TestAServerWithoutTheProfileNeedsConfigurationOnly plays an episode at a server like BrowserGym's.
func TestAServerWithoutTheProfileNeedsConfigurationOnly(t *testing.T) {
	g := &gym{}
	s, err := New(envadapters.Options{
		Servers:  []string{fake(t, g.answer)},
		MaxSteps: 4,
		Mapping: envadapters.Mapping{
			Family: "web",
			Goal:   "goal.text",
			Text:   "tree",
			Line:   `\[(?P<id>\w+)\] (?P<role>\w+) '(?P<text>[^']*)'`,
			Action: `{"action_str": {{json (browsergym .)}}}`,
			Reset:  `{"seed": {{.Seed}}, "task_name": {{json .Template}}}`,
			Tasks:  []string{"login"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}

	env := opened(t, s)
	task := domain.Task{Template: "login", Split: domain.SplitTrain, Seed: 5, MaxSteps: 4}
	tr, err := env.Reset(t.Context(), task)
	if err != nil {
		t.Fatal(err)
	}

	want := []domain.Element{
		{Index: 0, ID: "12", Role: "textbox", Text: "Name", Visible: true, Editable: true},
		{Index: 1, ID: "a7", Role: "button", Text: "Log in", Visible: true},
	}
	if !slices.EqualFunc(tr.Observation.Elements, want, sameJSON) {
		t.Errorf("elements %+v, want %+v", tr.Observation.Elements, want)
	}
	if tr.Goal != "Log in" {
		t.Errorf("goal %q, want %q", tr.Goal, "Log in")
	}

	for _, x := range []struct {
		action        domain.Action
		invalid, over bool
	}{
		{action: domain.Action{Type: domain.ActionTypeString, Element: "12", Text: `A "b"`}},
		{action: domain.Action{Type: domain.ActionClick, Element: "99"}, invalid: true},
		{action: domain.Action{Type: domain.ActionNone}, invalid: true},
		{action: domain.Action{Type: domain.ActionFinish, Answer: "ok"}, over: true},
	} {
		x.action.Family = domain.FamilyWeb
		if tr, err = env.Step(t.Context(), x.action); err != nil {
			t.Fatal(err)
		}
		if (tr.Invalid != "") != x.invalid || tr.Terminated != x.over {
			t.Errorf("%s: got %+v, want invalid %v, the end %v", x.action.JSON(), tr, x.invalid, x.over)
		}
	}

	sc, _ := env.Score(t.Context())
	if !sc.Success || sc.Raw != 1 || tr.Reward != 1 {
		t.Errorf("score %+v, reward %v, want success with 1 and 1", sc, tr.Reward)
	}

	g.mu.Lock()
	defer g.mu.Unlock()
	requests := []string{
		`reset{"seed":5,"task_name":"login"}`,
		`step{"action_str":"fill(\"12\",\"A\\\"b\\\"\")"}`,
		`step{"action_str":"noop()"}`,
		`step{"action_str":"send_msg_to_user(\"ok\")"}`,
	}
	if got := g.heard[:min(len(g.heard), len(requests))]; !slices.Equal(got, requests) {
		t.Errorf("the server heard %q, want %q", g.heard, requests)
	}
}

func sameJSON(a, b domain.Element) bool {
	x, _ := templates.JSON(a)
	y, _ := templates.JSON(b)

	return x == y
}
