// Package synth makes the data of stage 1 from the screens that rollouts visit (METHOD.md section 3): level 1 are questions and answers about a screen, level 2
// one-step instructions with their actions, level 3 preference pairs along successful trajectories. Its rules are pure; models are asked through Author. It knows domain
// and the prompt and answer forms of internal/system.
//
// It imports domain, internal/method/agents, internal/method/chat, internal/method/credit and internal/method/prompts.
package synth

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
)

// Screen is one step of a trajectory: what was seen, what was done, and what it led to.
type Screen struct {
	Step        int                 `json:"step"` // from 1
	History     []string            `json:"history"`
	Observation domain.Observation  `json:"observation"`
	Text        string              `json:"text"`                   // the UI agent's response, as written
	Action      *domain.Action      `json:"action,omitempty"`       // nil where it does not parse
	Right       []domain.Action     `json:"oracle_right,omitempty"` // privileged: what the environment's judge knows; for level 3's oracle critic only
	After       *domain.Observation `json:"after,omitempty"`        // nil at the end of the episode
	Image       string              `json:"image,omitempty"`        // digest of the screenshot's blob
}

// Kinds of level 1 (METHOD.md section 3). Level 2's kind is the action's type.
const (
	KindPurpose     = "purpose"     // of the screen
	KindSummary     = "summary"     // of the screen
	KindReach       = "reach"       // what the screen lets a user reach
	KindFunction    = "function"    // of an element
	KindInformation = "information" // that an element gives
	KindEffect      = "effect"      // of a click on an element
	KindAction      = "action"      // that goes with an element
)

// Kinds lists those of level 1.
var Kinds = []string{KindPurpose, KindSummary, KindReach, KindFunction, KindInformation, KindEffect, KindAction}

// Item is one question or instruction about a screen.
type Item struct {
	Kind    string         `json:"kind"`
	Ask     string         `json:"ask"`               // the question, or the instruction
	Answer  string         `json:"answer,omitempty"`  // level 1, in words
	Element *int           `json:"element,omitempty"` // level 1, where the answer is an element
	Reason  string         `json:"reason,omitempty"`  // level 2
	Action  *domain.Action `json:"action,omitempty"`  // level 2; nil where none could be read
}

// Author writes items about a screen; err is the endpoint's fault, and answered is false where what came cannot be read. Calls may be repeated.
type Author interface {
	Questions(ctx context.Context, s Screen, n int, seed uint64) (items []Item, answered bool, err error)
	Instructions(ctx context.Context, s Screen, n int, seed uint64) (items []Item, answered bool, err error)
}

// Target is what the data are made for.
type Target struct {
	Template *agents.Template                    // the agents' prompt
	Render   func(domain.Action) (string, error) // the wording of an action, where the policy has one of its own; nil: answers as they are written
	Fits     func(prompt, answer string) bool    // whether the policy can give the answer; nil: any
	Share    float64                             // of prompts that carry messages, half of them wrong
	Agents   int
}

// Why a proposed item is dropped.
const (
	DropEmpty     = "no question or no answer"
	DropAction    = "no valid action"
	DropElement   = "no such element"
	DropHidden    = "the element is not shown"
	DropReadOnly  = "the element takes no text"
	DropKind      = "unknown kind"
	DropComplete  = "more than two complete on a screen"
	DropAnswer    = "more than one answer on a screen"
	DropForeign   = "the policy cannot say it"
	DropDuplicate = "duplicate"
	DropCritic    = "the critic does not call it right"
	DropNoMistake = "no wrong answer survived"
)

// Batch are the items of one trajectory, and what became of what was proposed.
type Batch struct {
	Rows   []domain.Pair `json:"rows"`
	Counts ItemCounts    `json:"counts"`
}

// Drop counts an item that is not kept.
func (b *Batch) Drop(why string) { b.Counts.Dropped[why]++ }

// Keep adds a row; messages tells whether its prompt carries some.
func (b *Batch) Keep(p domain.Pair, kind string, messages bool) {
	b.Rows = append(b.Rows, p)
	b.Counts.Kept++
	b.Counts.ByKind[kind]++
	if messages {
		b.Counts.Messages++
	}
}

// Write asks an author about a screen and adds what is valid. level is 1 or 2.
func (b *Batch) Write(ctx context.Context, a Author, target Target, level, n int, row domain.Pair, s Screen, seed uint64) error {
	ask := a.Questions
	if level == 2 {
		ask = a.Instructions
	}
	b.Counts.Asked++
	items, answered, err := ask(ctx, s, n, seed)
	if err != nil {
		return err
	}
	if !answered {
		b.Counts.Unanswered++
	}
	complete, answers := 0, 0
	for i, it := range items {
		b.Counts.Proposed++
		row, messages, why, err := target.row(it, level, row, s, domain.Seed(seed, "row", i))
		if err != nil {
			return err
		}
		if why == "" && level == 2 {
			switch it.Action.Type {
			case domain.ActionStatus:
				if complete++; complete > 2 {
					why = DropComplete
				}
			case domain.ActionAnswer:
				if answers++; answers > 1 {
					why = DropAnswer
				}
			}
		}
		if why != "" {
			b.Drop(why)
			continue
		}
		kind := it.Kind
		if level == 2 {
			kind = it.Action.Type
		}
		b.Keep(row, kind, messages)
	}
	return nil
}

// row makes a training row of an item, or says why it is dropped.
func (target Target) row(it Item, level int, row domain.Pair, s Screen, seed uint64) (out domain.Pair, messages bool, why string, err error) {
	if strings.TrimSpace(it.Ask) == "" {
		return row, false, DropEmpty, nil
	}
	row.Step, row.Weight, row.Source, row.Image = s.Step, 1, domain.Source(it.Kind), s.Image
	if level == 1 {
		if !slices.Contains(Kinds, it.Kind) {
			return row, false, DropKind, nil
		}
		if it.Answer == "" && it.Element == nil {
			return row, false, DropEmpty, nil
		}
		if it.Element != nil {
			if why := onScreen(*it.Element, s.Observation); why != "" {
				return row, false, why, nil
			}
		}
		row.Prompt, row.Chosen = question(s, it.Ask), it.Answer
		if it.Answer == "" {
			row.Chosen = "Element " + fmt.Sprint(*it.Element)
		}
		if target.Render != nil { // it answers in actions: it points at an element, or copies words of the screen
			act := domain.Action{Type: domain.ActionAnswer, Text: it.Answer}
			if it.Answer == "" {
				act = domain.Action{Type: domain.ActionClick}.At(*it.Element)
			}
			text, unsaid := target.Render(act)
			if unsaid != nil {
				return row, false, DropForeign, nil
			}
			if row.Prompt, err = target.ask(it.Ask, s, "", nil); err != nil {
				return row, false, "", err
			}
			row.Chosen, row.ChosenCanonical = text, act.Canonical(s.Observation)
		}
	} else {
		if it.Action == nil {
			return row, false, DropAction, nil
		}
		if why := Valid(*it.Action, s.Observation); why != "" {
			return row, false, why, nil
		}
		text := "Reason: " + agents.Line(it.Reason, maxReason) + "\nAction: " + it.Action.JSON()
		if target.Render != nil {
			var unsaid error
			if text, unsaid = target.Render(*it.Action); unsaid != nil {
				return row, false, DropForeign, nil
			}
		}
		own, peers := target.Messages(domain.Rand(seed, "messages"), text, s.Observation)
		messages = own != "" || len(peers) > 0
		if row.Prompt, err = target.ask(it.Ask, s, own, peers); err != nil {
			return row, false, "", err
		}
		row.Chosen, row.ChosenCanonical = text, it.Action.Canonical(s.Observation)
	}
	if target.Fits != nil && !target.Fits(row.Prompt, row.Chosen) {
		return row, false, DropForeign, nil
	}
	return row, messages, "", nil
}

// ask is the agents' prompt with an instruction for a goal.
func (target Target) ask(ask string, s Screen, own string, peers []agents.Message) (string, error) {
	return target.Template.User(agents.View{Goal: ask, Observation: s.Observation}, own, peers)
}

// question is level 1's prompt for a policy that answers in words.
func question(s Screen, ask string) string {
	return "Screen:\n" + strings.Join(agents.Lines(s.Observation), "\n") + "\nQuestion: " + agents.Line(ask, maxAsk)
}

// Bounds of what reaches a data set.
const (
	maxAsk, maxAnswer, maxReason = 400, 1200, 300
)

func onScreen(index int, o domain.Observation) string {
	e, ok := o.Element(index)
	switch {
	case !ok:
		return DropElement
	case !e.Shown():
		return DropHidden
	}
	return ""
}

// Valid says why an action cannot be executed on a screen; empty means that it can.
func Valid(a domain.Action, o domain.Observation) string {
	if a.Validate() != nil {
		return DropAction
	}
	if a.Index == nil {
		return ""
	}
	if why := onScreen(*a.Index, o); why != "" {
		return why
	}
	if a.Type == domain.ActionInputText {
		e, _ := o.Element(*a.Index)
		if e.Target != nil {
			e, _ = o.Element(*e.Target)
		}
		if !e.Editable {
			return DropReadOnly
		}
	}
	return ""
}

// Messages makes up own and peers' words for a share of prompts, half of them wrong, because messages never seen in stage 1 hurt at first.
func (target Target) Messages(rng *rand.Rand, right string, o domain.Observation) (own string, peers []agents.Message) {
	if rng.Float64() >= target.Share {
		return "", nil
	}
	word := func() string {
		if rng.Float64() < 0.5 {
			return right
		}
		var shown []int
		for _, e := range o.Elements {
			if e.Shown() {
				shown = append(shown, e.Index)
			}
		}
		a := domain.Action{Type: domain.ActionStatus, GoalStatus: domain.StatusComplete}
		if len(shown) > 0 && rng.Float64() < 0.8 {
			a = domain.Action{Type: domain.ActionClick}.At(shown[rng.IntN(len(shown))])
		}
		return target.Word(a)
	}
	if rng.Float64() < 0.6 {
		own = word()
	}
	for p := range rng.IntN(target.Agents) {
		peers = append(peers, agents.Message{Agent: p, Text: word()})
	}
	return own, peers
}

// Word is an action in the policy's wording, or in a plain one.
func (target Target) Word(a domain.Action) string {
	if target.Render != nil {
		if text, err := target.Render(a); err == nil {
			return text
		}
	}
	return "Reason: this serves the goal.\nAction: " + a.JSON()
}
