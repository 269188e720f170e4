// Package synth makes the data of stage 1 from the screens that rollouts visit (docs/method.md, Data of stage 1). Level
// 1 consists of questions and answers about a screen, level 2 of one-step instructions with their actions, and level 3
// of preference pairs along successful trajectories. An author, which may be a chat model, proposes items; synth
// validates and counts them.
//
// It does no I/O.
package synth

import (
	"context"
	"strings"

	"github.com/collabui/collabui/domain"
)

// Screen is a step of a trajectory: the observation, the action, and the observation that followed.
type Screen struct {
	Step        int                `json:"step"` // from 1
	History     []string           `json:"history"`
	Observation domain.Observation `json:"observation"`
	Text        string             `json:"text"`             // the UI agent's response, as written
	Action      *domain.Action     `json:"action,omitempty"` // nil if the text does not parse

	// Right holds the actions that the environment's judge considers right. It is privileged: only the oracle of level
	// 3 reads it.
	Right []domain.Action `json:"oracle_right,omitempty"`

	After *domain.Observation `json:"after,omitempty"` // nil at the end of the episode
	Image string              `json:"image,omitempty"` // digest of the screenshot's blob
}

// Kinds of questions of level 1. The kind of an instruction of level 2 is the type of its action.
const (
	KindPurpose     = "purpose"     // purpose of the screen
	KindSummary     = "summary"     // summary of the screen
	KindReach       = "reach"       // what the screen lets a user reach
	KindFunction    = "function"    // function of an element
	KindInformation = "information" // information that an element shows
	KindEffect      = "effect"      // effect of a click on an element
	KindAction      = "action"      // action for an element
)

// Kinds lists all kinds of questions.
var Kinds = []string{
	KindPurpose, KindSummary, KindReach, KindFunction, KindInformation, KindEffect, KindAction,
}

// KindOf returns the kind of a training example of a level. In level 1, it is the kind of the question; in other
// levels, it is the action type of the chosen answer.
func KindOf(level int, pair domain.Example) string {
	if level == 1 {
		return string(pair.Source)
	}
	kind, _, _ := strings.Cut(pair.ChosenCanonical, " ")

	return kind
}

// Item is a proposed question or instruction about a screen.
type Item struct {
	Kind    string         `json:"kind"`
	Ask     string         `json:"ask"`               // the question, or the instruction
	Answer  string         `json:"answer,omitempty"`  // level 1: the answer in words
	Element *int           `json:"element,omitempty"` // level 1: the element that is the answer
	Reason  string         `json:"reason,omitempty"`  // level 2 only
	Action  *domain.Action `json:"action,omitempty"`  // level 2 only; nil if it cannot be read
}

// Author proposes up to n items about a screen. answered is false if its answer cannot be read. Errors are errors of
// the endpoint. Calls may be repeated.
type Author interface {
	Questions(ctx context.Context, s Screen, n int, seed uint64) (items []Item, answered bool, err error)
	Instructions(ctx context.Context, s Screen, n int, seed uint64) (items []Item, answered bool, err error)
}

// Bounds on what reaches a data set, in characters.
const (
	maxAsk    = 400
	maxAnswer = 1200
	maxReason = 300
)

// Reasons for dropping a proposed item.
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
	DropRefused   = "the model refused the request"
	DropNoMistake = "no wrong answer survived"
)
