// Package baselines implements agents of the literature that decide alone, in the prompting styles of published
// systems: with a summary of every step, with numbered marks on the screen, with an element that is first described and
// then chosen, or with a plan and an expectation. Their prompts are our own, and they use the same actions and the same
// player as all other systems. docs/method.md lists what each agent has in common with the published one.
//
// It does no I/O.
package baselines

import (
	"context"
	"strings"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/prompts"
)

// Marks reports whether agents of a style read screenshots on which elements are marked with their names. They need a
// model that reads images.
func Marks(style string) bool { return style == prompts.M3A }

// Looks reports whether agents of a style read screenshots if their model reads images.
func Looks(style string) bool { return style != prompts.T3A }

// Agent plays one episode alone. Its turns are decided in order.
type Agent struct {
	Style  string // one of prompts.Styles
	Prompt *prompts.Prompt
	Family domain.Family

	Model       chat.Model
	Policy      string // Request.Model of every call
	Temperature float64
	TopP        float64
	MaxTokens   int // maximum per answer; 0 means the limit of the model's endpoint
	Answers     agents.Parsing

	// Screen returns the picture of the current screen and, for styles with marks, also the marked one. It must be set
	// for styles that look whose model reads images, and nil otherwise.
	Screen func(ctx context.Context, screen domain.Observation) ([]chat.Image, error)

	// Recorded reports whether tasks are recorded. Then the recorded next page follows, with the recorded history, so
	// there is nothing to summarise or to expect.
	Recorded bool

	summaries   []string // summaries of the steps so far
	previous    *turn
	expectation string
}

// turn is a step that has been decided.
type turn struct {
	view   agents.View
	images []chat.Image
	text   string // the agent's answer
	action domain.Action
}

// Bounds on what goes into a prompt, in characters unless stated otherwise.
const (
	maxPast     = 50 // number of lines
	maxLine     = 400
	maxAnalysis = 4000
)

// data is what a template may use.
type data struct {
	prompts.Forms
	Goal    string
	History []string
	Screen  []string // elements, one per line
	Images  bool     // a screenshot is also shown

	// The previous step.
	Before   []string
	Said     string
	Invalid  string // why nothing was executed, or empty
	Expected string

	// The second question of SeeAct.
	Analysis string
	Choices  []string
	Verbs    []string
}

// Decide returns the agent's decision in turn n, from 1, as a decision of one cell. It must be called once for every
// turn, in order. An episode that is played again needs a new Agent. A refused prompt is a refused fault.
func (a *Agent) Decide(ctx context.Context, n int, view agents.View, seed uint64) (domain.Decision, error) {
	c := call{agent: a, seed: seed}
	images, err := a.look(ctx, view.Observation)
	if err != nil {
		return domain.Decision{}, err
	}
	if a.summarises() && a.previous != nil {
		if err := c.summarise(ctx, n-1, view, images); err != nil {
			return domain.Decision{}, err
		}
	}

	d := a.data(view, len(images) > 0)
	var cell domain.Cell
	if a.Style == prompts.SeeAct {
		cell, err = c.choose(ctx, d, view.Observation, images)
	} else {
		cell, err = c.act(ctx, d, view.Observation, images)
	}
	if err != nil {
		return domain.Decision{}, err
	}
	cell.Usage = c.usage
	cell.Calls = c.calls
	if len(images) > 0 {
		cell.Image = images[len(images)-1].Digest
	}

	out := domain.Decision{Cells: []domain.Cell{cell}, Executed: domain.Action{Type: domain.ActionNone}}
	out.AllRound = agents.Count(out.Cells, 1, []int{0}, false)
	out.LastOnly = out.AllRound
	if cell.Action != nil {
		out.Executed = *cell.Action
	}
	a.previous = &turn{view: view, images: images, text: cell.Text, action: out.Executed}
	a.expectation = restAfter(cell.Text, "Expectation:")

	return out, nil
}

// look returns the screenshots for the current turn, or nil if the model reads none.
func (a *Agent) look(ctx context.Context, observation domain.Observation) ([]chat.Image, error) {
	if a.Screen == nil {
		return nil, nil
	}

	return a.Screen(ctx, observation)
}

// summarises reports whether the agent keeps its own history.
func (a *Agent) summarises() bool {
	return !a.Recorded && (a.Style == prompts.T3A || a.Style == prompts.M3A)
}

func (a *Agent) data(view agents.View, images bool) data {
	d := data{
		Forms: prompts.FormsOf(string(a.Family)), Goal: agents.Line(view.Goal, agents.ModelLimits.Goal),
		Screen: screen(view), Images: images,
	}
	past := view.History
	if a.summarises() {
		past = a.summaries
	}
	for _, line := range past[max(0, len(past)-maxPast):] {
		d.History = append(d.History, agents.Line(line, maxLine))
	}
	if !a.Recorded {
		d.Expected = a.expectation
	}

	return d
}

// screen returns the elements that the agent sees, one per line.
func screen(view agents.View) []string {
	var out []string
	for _, element := range view.Shown() {
		out = append(out, agents.ModelLimits.ElementLine(element))
	}

	return out
}

// call makes the requests of one turn and counts them.
type call struct {
	agent *Agent
	seed  uint64
	usage domain.Usage
	calls int
}

// request makes one request from the template's parts system and user. It also returns the user message. about
// identifies the request's seed within the turn.
func (c *call) request(
	ctx context.Context, system, user, about string, d data, images []chat.Image,
) (chat.Response, string, error) {
	agent := c.agent
	sys, err := agent.Prompt.Render(system, d)
	if err != nil {
		return chat.Response{}, "", err
	}
	prompt, err := agent.Prompt.Render(user, d)
	if err != nil {
		return chat.Response{}, "", err
	}
	response, err := agent.Model.Complete(ctx, chat.Request{
		Model: agent.Policy, System: sys, User: prompt, Images: images, Temperature: agent.Temperature,
		TopP:      agent.TopP,
		MaxTokens: agent.MaxTokens, Seed: domain.Seed(c.seed, about), N: 1,
	})
	c.usage = c.usage.Plus(response.Usage)
	c.calls++

	return response, prompt, err
}

// act requests an action in its JSON form.
func (c *call) act(
	ctx context.Context, d data, observation domain.Observation, images []chat.Image,
) (domain.Cell, error) {
	response, prompt, err := c.request(ctx, "system", "user", "act", d, images)
	if err != nil {
		return domain.Cell{}, err
	}
	cell := agents.Reader{Parsing: c.agent.Answers}.Cell(0, 0, response.Texts[0], prompt, observation)
	response.Read(cell.ParseError)
	if len(response.Reasoning) > 0 {
		cell.Thought = response.Reasoning[0]
	}

	return cell, nil
}

// summarise has the model summarise the last step from the screens before and after it, and adds the answer to the
// history. If the model refuses or its answer is empty, the history gets the line that the player writes by fixed
// rules.
func (c *call) summarise(ctx context.Context, n int, view agents.View, images []chat.Image) error {
	agent := c.agent
	last := c.agent.previous
	line := agents.Summarise(n, last.action, last.view.Observation, "")
	if len(view.History) > 0 {
		line = view.History[len(view.History)-1]
	}
	d := agent.data(view, len(images) > 0)
	d.Before = screen(last.view)
	d.Said = agents.Line(last.text, maxLine)
	d.Invalid = restAfter(line, " failed: ")
	shown := images
	if Marks(agent.Style) {
		shown = []chat.Image{last.images[1], images[1]}
	}
	response, _, err := c.request(ctx, "summary-system", "summary", "summary", d, shown)
	if fault.KindOf(err) == fault.Refused {
		agent.summaries = append(agent.summaries, line)

		return nil
	}
	if err != nil {
		return err
	}
	if summary := agents.Line(response.Texts[0], maxLine); summary != "" {
		line += ". " + summary
	}
	agent.summaries = append(agent.summaries, line)

	return nil
}

// restAfter returns the rest of the line that follows the last occurrence of mark in a text, or "".
func restAfter(text, mark string) string {
	at := strings.LastIndex(text, mark)
	if at < 0 {
		return ""
	}
	rest, _, _ := strings.Cut(text[at+len(mark):], "\n")

	return agents.Line(rest, maxLine)
}
