// Package agents is the multi-agent system of METHOD.md section 2: prompts, rounds over a directed acyclic graph, and the vote that gives one action.
// It knows domain only; models are reached through Chat.
package agents

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/collabui/collabui/internal/method/chat"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/prompts"
)

// View is what one agent sees at one environment step, before any message.
type View struct {
	Goal        string
	History     []string // one line per past step
	Observation domain.Observation
	Hidden      map[int]bool // element indices that view dropout hides from this agent
}

// Message is a peer's latest text.
type Message struct {
	Agent int
	Text  string
}

// Template is the agents' prompt for one action family. Its system message is the same at every step: the action space with its JSON forms, guidelines and the answer
// format; the small policy ignores it. METHOD.md's order is kept for the rest.
type Template struct {
	prompt *prompts.Prompt
	system string
}

// NewTemplate prepares a prompt of role agent.
func NewTemplate(p *prompts.Prompt, family domain.Family) (*Template, error) {
	sys, err := p.Render("system", prompts.FormsOf(string(family)))
	return &Template{prompt: p, system: sys}, err
}

// Default is the built-in template for the mobile family.
var Default = func() *Template {
	text, err := prompts.Default(prompts.Agent)
	var p *prompts.Prompt
	if err == nil {
		p, err = prompts.Parse(text)
	}
	var t *Template
	if err == nil {
		t, err = NewTemplate(p, domain.FamilyMobile)
	}
	if err != nil {
		panic(err) // embedded
	}
	return t
}()

// System is the system message.
func (t *Template) System() string { return t.system }

// Bounds of what a page may put into a prompt.
const (
	maxGoal        = 400
	maxElementText = 80
	maxElements    = 500
	maxHistory     = 12
	maxMessage     = 600
	maxSummary     = 160 // of a history's line
)

// User renders the user message: goal, history, screen, own previous words, peers' words. What comes first is the same in every round, so that a server's prefix cache
// serves all rounds of one agent. The template gets every datum folded into one line and bounded, so that no page and no peer can imitate a section.
func (t *Template) User(v View, own string, peers []Message) (string, error) {
	data := struct {
		Goal, Own       string
		History, Screen []string
		Peers           []Message
	}{Goal: Line(v.Goal, maxGoal), Own: Line(own, maxMessage)}
	for _, h := range v.History[max(0, len(v.History)-maxHistory):] {
		data.History = append(data.History, Line(h, maxSummary))
	}
	for _, e := range v.Observation.Elements {
		if e.Shown() && !v.Hidden[e.Index] && len(data.Screen) < maxElements {
			data.Screen = append(data.Screen, ElementLine(e))
		}
	}
	for _, m := range peers {
		data.Peers = append(data.Peers, Message{m.Agent, Line(m.Text, maxMessage)})
	}
	return t.prompt.Render("user", data)
}

// ElementLine is one element as agents see it: ID where it has one, else index; role, text, state.
func ElementLine(e domain.Element) string {
	parts := []string{e.ID, e.Role}
	if e.ID == "" {
		parts[0] = strconv.Itoa(e.Index)
	}
	if t := Line(e.Text, maxElementText); t != "" {
		parts = append(parts, t)
	}
	if d := Line(e.Desc, maxElementText); d != "" {
		parts = append(parts, d)
	}
	if e.Editable {
		if e.Value == "" {
			parts = append(parts, "empty")
		} else {
			parts = append(parts, "holds "+Line(e.Value, maxElementText))
		}
	}
	return strings.Join(append(parts, e.State...), " ")
}

// Line folds white space, so that text of a page or a model can neither add a line nor imitate a section, and bounds it to limit characters.
func Line(s string, limit int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > limit {
		s = string(r[:limit]) + "…"
	}
	return s
}

// Summarise is the template summariser: one history line for an executed action on the observation on which it was chosen.
func Summarise(step int, a domain.Action, o domain.Observation, invalid string) string {
	s := fmt.Sprintf("%d %s", step, a.Type)
	if e, ok := a.Named(o); ok {
		s += " " + e.Role + " " + Line(e.Text, maxElementText)
	}
	for _, x := range a.Words() {
		s += " " + Line(x, maxElementText)
	}
	if invalid != "" {
		s += " failed: " + invalid
	}
	return s
}

// Happened is one executed step, for the summariser.
type Happened struct {
	Step          int
	Goal          string
	Line          string // of the template summariser
	Before, After domain.Observation
	Invalid       string // why nothing was executed
}

// ModelSummary asks a chat model for the history's line of a step; an empty answer leaves the template's. The call may be repeated.
func ModelSummary(ctx context.Context, model chat.Model, p *prompts.Prompt, h Happened, seed uint64) (string, error) {
	data := struct {
		Goal, Done, Invalid string
		Screen, After       []string
	}{Line(h.Goal, maxGoal), h.Line, Line(h.Invalid, maxSummary), Lines(h.Before), Lines(h.After)}
	sys, user, err := p.Messages(data)
	if err != nil {
		return "", err
	}
	r, err := model.Complete(ctx, chat.Request{System: sys, User: user, TopP: 1, Seed: seed, N: 1})
	if err != nil {
		return "", err
	}
	said := Line(r.Texts[0], maxSummary)
	if said == "" {
		return h.Line, nil
	}
	return fmt.Sprintf("%d %s", h.Step, said), nil
}

// Lines are the elements that agents see, one per line.
func Lines(o domain.Observation) []string {
	var out []string
	for _, e := range o.Elements {
		if e.Shown() {
			out = append(out, ElementLine(e))
		}
	}
	return out
}
