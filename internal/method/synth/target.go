package synth

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
)

// Target describes the policy for which the data are made.
type Target struct {
	Template *agents.Template // the agents' prompt
	Family   domain.Family    // of the agents' actions; empty means mobile

	// Render returns the policy's own wording of an action. If it is nil, answers are used as written.
	Render func(domain.Action) (string, error)

	// Fits reports whether the policy can write the answer. If it is nil, the policy can write any answer.
	Fits func(prompt, answer string) bool

	// Notes reports whether the agents write notes.
	Notes bool

	// Share is the share of prompts that contain messages, from 0 to 1. Half of the messages are wrong.
	Share  float64
	Agents int
}

// example is a training example, or the reason for dropping it.
type example struct {
	pair     domain.Example
	messages bool // whether the prompt contains messages
	dropped  string
}

// example makes a training example from an item. Errors are errors of the agents' template.
func (target Target) example(it Item, level int, pair domain.Example, screen Screen, seed uint64) (example, error) {
	if strings.TrimSpace(it.Ask) == "" {
		return example{dropped: DropEmpty}, nil
	}
	pair.Step = screen.Step
	pair.Weight = 1
	pair.Source = domain.Source(it.Kind)
	pair.Image = screen.Image

	build := target.question
	if level == 2 {
		build = target.instruction
	}
	out, err := build(it, pair, screen, seed)
	if err == nil && out.dropped == "" && target.Fits != nil && !target.Fits(out.pair.Prompt, out.pair.Chosen) {
		out.dropped = DropForeign
	}

	return out, err
}

// question makes a training example of level 1.
func (target Target) question(it Item, pair domain.Example, screen Screen, _ uint64) (example, error) {
	switch {
	case !slices.Contains(Kinds, it.Kind):
		return example{dropped: DropKind}, nil
	case it.Answer == "" && it.Element == nil:
		return example{dropped: DropEmpty}, nil
	case it.Element != nil:
		if why := onScreen(*it.Element, screen.Observation); why != "" {
			return example{dropped: why}, nil
		}
	}
	if target.Render != nil {
		return target.pointing(it, pair, screen)
	}

	lines := append([]string{screenPrefix}, target.Template.Limits().Lines(screen.Observation)...)
	if !target.Template.Lists() {
		lines = lines[:1]
	}
	pair.Prompt = strings.Join(append(lines, "Question: "+agents.Line(it.Ask, maxAsk)), "\n")
	pair.Chosen = it.Answer
	if it.Answer == "" {
		pair.Chosen = "Element " + fmt.Sprint(*it.Element)
	}

	return example{pair: pair}, nil
}

// pointing makes a training example of level 1 for a policy that answers in actions: it points at an element, or copies
// words of the screen.
func (target Target) pointing(it Item, pair domain.Example, screen Screen) (example, error) {
	act := domain.Action{Type: domain.ActionAnswer, Text: it.Answer}
	if it.Answer == "" {
		act = domain.Action{Type: domain.ActionClick}.At(*it.Element)
	}
	text, errRender := target.Render(act)
	if errRender != nil {
		return example{dropped: DropForeign}, nil
	}
	var err error
	pair.Prompt, err = target.prompt(it.Ask, screen, "", nil)
	pair.Chosen = text
	pair.ChosenCanonical = act.Canonical(screen.Observation)

	return example{pair: pair}, err
}

// instruction makes a training example of level 2.
func (target Target) instruction(it Item, pair domain.Example, screen Screen, seed uint64) (example, error) {
	if it.Action == nil {
		return example{dropped: DropAction}, nil
	}
	if why := invalid(*it.Action, screen.Observation); why != "" {
		return example{dropped: why}, nil
	}
	action, ok := target.translate(*it.Action, screen.Observation)
	if !ok {
		return example{dropped: DropForeign}, nil
	}
	text := "Reason: " + agents.Line(it.Reason, maxReason) + "\nAction: " + action.JSON()
	if target.Render != nil {
		var errRender error
		if text, errRender = target.Render(action); errRender != nil {
			return example{dropped: DropForeign}, nil
		}
	}

	own, peers := target.Messages(domain.Rand(seed, "messages"), text, screen.Observation)
	var err error
	pair.Prompt, err = target.prompt(it.Ask, screen, own, peers)
	pair.Chosen = text
	pair.ChosenCanonical = action.Canonical(screen.Observation)

	return example{pair: pair, messages: own != "" || len(peers) > 0}, err
}

// prompt renders the agents' prompt with an instruction or a question as its goal.
func (target Target) prompt(ask string, screen Screen, own string, peers []agents.Message) (string, error) {
	return target.Template.User(target.View(ask, screen), own, peers)
}

// View returns what an agent sees of a screen that it gets a goal for, without a history.
func (target Target) View(goal string, screen Screen) agents.View {
	view := agents.View{Goal: goal, Observation: screen.Observation}
	if target.Template.Pictures() {
		view.Picture.Digest = screen.Image
	}

	return view
}

// Messages makes up an own answer and peers' messages for a share of prompts. Half of them are wrong. If stage 1 never
// shows messages, they do harm at the beginning of stage 2.
func (target Target) Messages(rng *rand.Rand, right string, o domain.Observation) (own string, peers []agents.Message) {
	if rng.Float64() >= target.Share {
		return "", nil
	}
	word := func() string {
		if rng.Float64() < 0.5 {
			return right
		}

		return target.Word(target.mistake(rng, o), o)
	}
	if rng.Float64() < 0.6 {
		own = word()
	}
	for p := range rng.IntN(target.Agents) {
		peers = append(peers, agents.Message{Agent: p, Text: word()})
	}

	return own, peers
}

// translate translates an action into the family of the agents. It returns false if the family has no equivalent.
func (target Target) translate(action domain.Action, observation domain.Observation) (domain.Action, bool) {
	return action.In(cmp.Or(target.Family, domain.FamilyMobile), observation)
}

// mistake returns a click on a random shown element, or the end of the task.
func (target Target) mistake(rng *rand.Rand, observation domain.Observation) domain.Action {
	var shown []int
	for _, element := range observation.Elements {
		if element.Shown() {
			shown = append(shown, element.Index)
		}
	}
	if len(shown) > 0 && rng.Float64() < 0.8 {
		click := domain.Action{Type: domain.ActionClick}.At(shown[rng.IntN(len(shown))])
		if action, ok := target.translate(click, observation); ok { // an element of the web may lack an ID
			return action
		}
	}
	end, _ := target.translate(domain.Action{Type: domain.ActionStatus, GoalStatus: domain.StatusComplete}, observation)

	return end
}

// Word returns an answer with an action, in the policy's wording or in a plain one whose reason names the element. A
// policy with random weights learns sooner to read the screen if every answer repeats a part of it.
func (target Target) Word(action domain.Action, observation domain.Observation) string {
	if target.Render != nil {
		if text, err := target.Render(action); err == nil {
			return text
		}
	}

	return "Reason: " + agents.Reason(action, observation) + " serves the goal.\nAction: " + action.JSON()
}

// invalid returns the reason why an action cannot be executed on a screen, or "".
func invalid(action domain.Action, observation domain.Observation) string {
	if action.Validate() != nil {
		return DropAction
	}
	if action.Index == nil && action.Element == "" {
		return ""
	}
	element, ok := action.Named(observation)
	if !ok {
		return DropElement
	}
	if why := onScreen(element.Index, observation); why != "" {
		return why
	}
	if action.Type == domain.ActionInputText || action.Type == domain.ActionTypeString {
		if element.Target != nil {
			element, _ = observation.Element(*element.Target)
		}
		if !element.Editable {
			return DropReadOnly
		}
	}

	return ""
}

// onScreen returns the reason why an action cannot name an element, or "".
func onScreen(index int, observation domain.Observation) string {
	element, ok := observation.Element(index)
	switch {
	case !ok:
		return DropElement
	case !element.Shown():
		return DropHidden
	}

	return ""
}
