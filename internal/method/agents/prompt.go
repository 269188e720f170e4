package agents

import (
	"slices"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/prompts"
)

// Bounds of what a page may put into a prompt, in characters unless stated otherwise.
const (
	maxGoal        = 400
	maxElementText = 80
	maxID          = 2000 // of an element: agents have to repeat it
	maxElements    = 500  // elements
	maxHistory     = 12   // lines
	maxMessage     = 600
	maxSummary     = 160 // one line of the history
)

// Message is a peer's latest text.
type Message struct {
	Agent int
	Text  string
}

// Template is the agents' prompt for one action family. Its system message is the same at every step: the action space
// with its JSON forms, guidelines and the answer format. The small policy ignores it.
type Template struct {
	prompt *prompts.Prompt
	system string
	over   func(user string) int
}

// Bounded returns the template for a policy that does not read everything: over returns how much of a user message is
// too much for it, 0 if it reads the message in full. nil means that the policy reads all.
func (t *Template) Bounded(over func(user string) int) *Template {
	return &Template{prompt: t.prompt, system: t.system, over: over}
}

// NewTemplate prepares a prompt of the role agent.
func NewTemplate(prompt *prompts.Prompt, family domain.Family) (*Template, error) {
	sys, err := prompt.Render("system", prompts.FormsOf(string(family)))

	return &Template{prompt: prompt, system: sys}, err
}

// Default is the built-in template for the mobile family.
var Default = builtIn()

func builtIn() *Template {
	text, err := prompts.Default(prompts.Agent)
	if err != nil {
		panic(err) // the text is embedded
	}
	prompt, err := prompts.Parse(text)
	if err != nil {
		panic(err)
	}
	template, err := NewTemplate(prompt, domain.FamilyMobile)
	if err != nil {
		panic(err)
	}

	return template
}

// System returns the system message.
func (t *Template) System() string { return t.system }

// User renders the user message: goal, history, screen, the agent's own previous words and its peers' words. The parts
// that all rounds share come first, so a server's prefix cache serves them. Every datum is folded into one line and
// bounded, so no page and no peer can imitate a section. What Fit leaves out is not there.
func (t *Template) User(view View, own string, peers []Message) (string, error) {
	text, _, err := t.Fit(view, own, peers)

	return text, err
}

// render renders the user message without what is left out, and with a line that says so.
func (t *Template) render(view View, own string, peers []Message, left domain.LeftOut) (string, error) {
	data := struct {
		Goal, Own, LeftOut string
		History            []string
		Screen             []Seen
		Peers              []Message
	}{Goal: Line(view.Goal, maxGoal), Own: ShortenAnswer(own, maxMessage), LeftOut: leftOut(left)}
	for _, h := range view.recent()[left.History:] {
		data.History = append(data.History, Line(h, maxSummary))
	}
	for _, element := range view.Shown() {
		if !slices.Contains(left.Elements, element.Index) {
			data.Screen = append(data.Screen, see(element))
		}
	}
	for _, message := range peers {
		data.Peers = append(data.Peers, Message{Agent: message.Agent, Text: ShortenAnswer(message.Text, maxMessage)})
	}

	return t.prompt.Render("user", data)
}
