// Package events publishes a run's events live in a Redis stream, for viewers, and defines the schema of the events.
// The stream may vanish at any moment: nothing depends on it.
package events

import (
	"encoding/json"
	"fmt"

	"github.com/collabui/collabui/internal/records/runs"
)

// Event is one event of a run. Its JSON is one object on one line: the key "event" contains its kind, and the other
// keys are the fields of its type. An activity that runs again emits its event again, with the same bytes.
type Event interface{ kind() string }

// Base reports that stage 1 has ended.
type Base struct {
	Policy    string `json:"policy"`     // digest
	InBand    bool   `json:"in_band"`    // success on val is between finetune.stop_low and stop_high
	StoppedBy string `json:"stopped_by"` // stop_low, max_chunks, levels or given
}

// Data reports that the data set of a level of stage 1 was written.
type Data struct {
	Level   int `json:"level"` // 1 to 3
	Rows    int `json:"rows"`
	Dropped int `json:"dropped"` // proposed items that were not kept
}

// Episode reports that a slot was rolled out.
type Episode struct {
	Epoch   int  `json:"epoch"`
	Slot    int  `json:"slot"`
	Success bool `json:"success"`
	Steps   int  `json:"steps"`
}

// Void reports that an attempt at a slot was void. Another attempt follows, or the slot has failed.
type Void struct {
	Epoch   int    `json:"epoch"`
	Slot    int    `json:"slot"`
	Attempt int    `json:"attempt"` // from 1
	Why     string `json:"why"`
}

// Labels reports how the cells of a slot's episode were labelled, and the number of preference pairs made from them.
type Labels struct {
	Epoch  int `json:"epoch"`
	Slot   int `json:"slot"`
	Right  int `json:"right"`
	Wrong  int `json:"wrong"`
	Unsure int `json:"unsure"`
	Pairs  int `json:"pairs"`
}

// Environment contains the figures that an environment keeps, such as the figures of a pool of emulators.
type Environment struct {
	Suite   string `json:"suite"`
	Figures any    `json:"figures"`
}

// Update reports that an agent was updated.
type Update struct {
	Epoch int    `json:"epoch"`
	Agent int    `json:"agent"`
	Pairs int    `json:"pairs"`
	Steps int    `json:"steps"` // optimiser steps
	Kept  string `json:"kept"`  // why the parent policy was kept, or ""
}

// The gaps that are measured.
const (
	GapServed = "served" // between trainer and policy servers, on canaries of a policy that is published
	GapPlayed = "played" // between trainer and rollouts, on answers of the policy that played
)

// Gap reports how far two computations of log π of the same answers are apart, in nats per token.
type Gap struct {
	Epoch int     `json:"epoch"` // 0: stage 1
	Agent int     `json:"agent"`
	Of    string  `json:"of"` // GapServed or GapPlayed
	Mean  float64 `json:"mean"`
	Worst float64 `json:"worst"`
	Limit float64 `json:"limit"` // the highest mean that is no fault
}

// Warning reports something that a person should look into.
type Warning struct {
	Epoch int    `json:"epoch"`
	Agent int    `json:"agent"`
	Text  string `json:"text"`
}

// Epoch reports that an epoch was committed.
type Epoch struct {
	Epoch    int     `json:"epoch"`
	Rollouts float64 `json:"rollouts"` // success rate of the rollouts, 0 to 1
	Pairs    int     `json:"pairs"`
	Val      float64 `json:"val"`  // success rate on val of the new system; -1: not evaluated
	Kept     string  `json:"kept"` // why the agents continue with the policies before its updates, or ""
	Digest   string  `json:"digest"`

	Positive    float64 `json:"positive"`    // share of the critic's labels that are positive; -1: not counted
	Failed      int     `json:"failed"`      // slots whose tasks were at fault
	Quarantined int     `json:"quarantined"` // templates that are left out of training
}

// Evaluation reports that a range of an evaluation's episodes was played.
type Evaluation struct {
	Folder    string `json:"folder"`
	System    string `json:"system"`
	Split     string `json:"split"`
	From      int    `json:"from"` // from 0
	To        int    `json:"to"`   // exclusive
	Successes int    `json:"successes"`
}

// Result reports the result of a system on a split.
type Result struct {
	Folder    string  `json:"folder"`
	System    string  `json:"system"`
	Split     string  `json:"split"`
	Episodes  int     `json:"episodes"`
	Successes int     `json:"successes"`
	Rate      float64 `json:"rate"` // 0 to 1
}

// End reports that the run has ended.
type End struct {
	FinalDigest string        `json:"final_digest"`
	Results     []runs.Result `json:"results"`
}

// Progress is shown as a bar in a terminal. The command line makes it; it never passes through the stream.
type Progress struct {
	Run  string `json:"run"`
	Text string `json:"text"`
}

// Message is a line for people, such as the reason why a run is paused. The command line makes it; it never passes
// through the stream.
type Message struct {
	Run  string `json:"run"`
	Text string `json:"text"`
}

func (Base) kind() string        { return "base" }
func (Data) kind() string        { return "data" }
func (Episode) kind() string     { return "episode" }
func (Void) kind() string        { return "void" }
func (Labels) kind() string      { return "labels" }
func (Environment) kind() string { return "environment" }
func (Update) kind() string      { return "update" }
func (Gap) kind() string         { return "gap" }
func (Warning) kind() string     { return "warning" }
func (Epoch) kind() string       { return "epoch" }
func (Evaluation) kind() string  { return "evaluation" }
func (Result) kind() string      { return "result" }
func (End) kind() string         { return "end" }
func (Progress) kind() string    { return "progress" }
func (Message) kind() string     { return "message" }

// Encode returns an event as one line of JSON.
func Encode(event Event) ([]byte, error) {
	body, err := json.Marshal(event)
	if err != nil {
		return nil, err
	}
	head := fmt.Sprintf(`{"event":%q`, event.kind())
	if string(body) == "{}" {
		return []byte(head + "}"), nil
	}

	return append([]byte(head+","), body[1:]...), nil
}

// Decode decodes the output of Encode. An event of an unknown kind is an error.
func Decode(raw []byte) (Event, error) {
	var head struct {
		Event string `json:"event"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return nil, err
	}

	read, known := kinds[head.Event]
	if !known {
		return nil, fmt.Errorf("unknown event %q", head.Event)
	}

	return read(raw)
}

// kinds decode the events of each kind.
var kinds = map[string]func([]byte) (Event, error){
	"base":        decode[Base],
	"data":        decode[Data],
	"episode":     decode[Episode],
	"void":        decode[Void],
	"labels":      decode[Labels],
	"environment": decode[Environment],
	"update":      decode[Update],
	"gap":         decode[Gap],
	"warning":     decode[Warning],
	"epoch":       decode[Epoch],
	"evaluation":  decode[Evaluation],
	"result":      decode[Result],
	"end":         decode[End],
	"progress":    decode[Progress],
	"message":     decode[Message],
}

func decode[T Event](raw []byte) (Event, error) {
	var e T
	err := json.Unmarshal(raw, &e)

	return e, err
}
