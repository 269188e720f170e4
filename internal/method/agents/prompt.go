package agents

import (
	"slices"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/prompts"
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
	forms  prompts.Forms
	system string
	speech bool
	limits Limits
	shown  Presentation
	excess func(user string) int
}

// Limited returns the template with other limits. A new template has SmallLimits.
func (t *Template) Limited(limits Limits) *Template {
	limited := *t
	limited.limits = limits.OrSmall()

	return &limited
}

// Noting returns the template of agents that write notes.
func (t *Template) Noting() (*Template, error) {
	noting := *t
	noting.forms = t.forms.WithNotes()
	var err error
	noting.system, err = t.prompt.Render("system", noting.forms)

	return &noting, err
}

// Limits returns the limits of the prompts.
func (t *Template) Limits() Limits { return t.limits }

// Presenting returns the template for agents that see screens in the given form.
func (t *Template) Presenting(shown Presentation) *Template {
	presenting := *t
	presenting.shown = shown

	return &presenting
}

// Lists reports whether prompts list the elements of the screen.
func (t *Template) Lists() bool { return t.shown.Listed() }

// Pictures reports whether pictures go with prompts.
func (t *Template) Pictures() bool { return t.shown.Pictured() }

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

	return &Template{prompt: prompt, forms: forms, system: sys, speech: speech, limits: SmallLimits}, err
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
		Goal: Line(view.Goal, t.limits.Goal), Own: ShortenAnswer(own, t.limits.Message), LeftOut: left.String(),
		View: lines(view.pictureLine(t.shown), view.seenLine(t.speech)),
	}
	for _, line := range t.recent(view)[left.History:] {
		data.History = append(data.History, t.limits.HistoryLine(line))
	}
	for _, element := range t.included(view, left) {
		data.Screen = append(data.Screen, t.limits.seen(element))
	}
	for _, message := range peers {
		text := ShortenAnswer(message.Text, t.limits.Message)
		data.Peers = append(data.Peers, Message{Agent: message.Agent, Text: text})
	}

	return t.prompt.Render("user", data)
}

// recent returns the newest lines of the history, which prompts show.
func (t *Template) recent(view View) []string {
	return view.History[max(0, len(view.History)-t.limits.History):]
}

// included returns the shown elements that the prompt lists, without those that are left out.
func (t *Template) included(view View, left domain.LeftOut) []domain.Element {
	return slices.DeleteFunc(view.Shown(), func(element domain.Element) bool {
		return !t.shown.Listed() || slices.Contains(left.Elements, element.Index)
	})
}
