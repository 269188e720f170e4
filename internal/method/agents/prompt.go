package agents

import (
	"slices"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/prompts"
)

// Bounds on what a page may put into a prompt, in characters unless stated otherwise.
const (
	maxGoal        = 400
	maxElementText = 80
	maxID          = 2000 // the ID of an element, which agents must repeat
	maxElements    = 500  // number of elements
	maxHistory     = 12   // number of lines
	maxMessage     = 600
	maxSummary     = 160 // one line of the history
)

// Message is the latest text of a peer.
type Message struct {
	Agent int
	Text  string
}

// Template renders the agents' prompts for one action family. Its system message is the same at every step: the action
// space with its JSON forms, the guidelines and the answer format. The small policy ignores it.
type Template struct {
	prompt *prompts.Prompt
	system string
	speech bool
	excess func(user string) int
}

// Bounded returns the template for a policy that reads only a limited prompt. excess returns by how much a user message
// exceeds the limit, or 0 if the policy reads all of it. If excess is nil, the policy reads messages of any length.
func (t *Template) Bounded(excess func(user string) int) *Template {
	bounded := *t
	bounded.excess = excess

	return &bounded
}

// NewTemplate prepares a prompt of the role agent for an action family. With speech, it also offers the acts of speech.
func NewTemplate(prompt *prompts.Prompt, family domain.Family, speech bool) (*Template, error) {
	forms := prompts.FormsOf(string(family))
	if speech {
		forms = forms.WithSpeech()
	}
	sys, err := prompt.Render("system", forms)

	return &Template{prompt: prompt, system: sys, speech: speech}, err
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
	template, err := NewTemplate(prompt, domain.FamilyMobile, false)
	if err != nil {
		panic(err)
	}

	return template
}

// System returns the system message.
func (t *Template) System() string { return t.system }

// User renders the user message: goal, history, screen, the agent's own previous answer and its peers' messages. The
// parts that all rounds share come first, so a server's prefix cache can serve them. Every value is folded into one
// line and bounded, so neither a page nor a peer can imitate a section. The message lacks what Fit leaves out.
func (t *Template) User(view View, own string, peers []Message) (string, error) {
	text, _, err := t.Fit(view, own, peers)

	return text, err
}

// render renders the user message without the given parts, and with a line that lists what was left out.
func (t *Template) render(view View, own string, peers []Message, left domain.LeftOut) (string, error) {
	data := struct {
		Goal, Own, LeftOut, View string
		History                  []string
		Screen                   []Seen
		Peers                    []Message
	}{
		Goal: Line(view.Goal, maxGoal), Own: ShortenAnswer(own, maxMessage), LeftOut: leftOut(left),
		View: view.seenLine(t.speech),
	}
	for _, h := range view.recent()[left.History:] {
		data.History = append(data.History, Line(h, maxSummary))
	}
	for _, element := range view.Shown() {
		if !slices.Contains(left.Elements, element.Index) {
			data.Screen = append(data.Screen, newSeen(element))
		}
	}
	for _, message := range peers {
		data.Peers = append(data.Peers, Message{Agent: message.Agent, Text: ShortenAnswer(message.Text, maxMessage)})
	}

	return t.prompt.Render("user", data)
}
