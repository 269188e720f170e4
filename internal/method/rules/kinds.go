package rules

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/collabui/collabui/internal/method/baselines"
	"github.com/collabui/collabui/internal/method/prompts"
	"github.com/collabui/collabui/internal/method/spec"
)

// Ways in which the same policies may decide, as experiments compare them. Each way differs from the previous one in
// one respect: alone has one agent, silent has as many votes as the graph has calls, oneround adds the first messages,
// and the graph, which is the empty way, adds the other rounds. Shuffled replaces the messages by another task's
// messages, liar does so for one agent, less lacks one agent, and whole is alone without divided views.
const (
	WayAlone    = "alone"    // one agent in one round, drawn for each episode
	WaySilent   = "silent"   // every agent votes in every round and reads no messages
	WayOneRound = "oneround" // one round of the graph
	WayShuffled = "shuffled" // the graph with messages of another task
	WayLiar     = "liar"     // the graph with messages of another task from one agent, drawn for each episode
	WayWhole    = "whole"    // as alone, but the agent sees the whole screen
	WayLess     = "less"     // the graph without one agent, drawn for each episode
	wayAgent    = "agent"    // followed by a number from 0: that agent alone, in one round

	// WayPlain is one agent that is called once per step and decodes greedily. The ways of prompts.Styles have their
	// own prompts.
	WayPlain = "plain"
)

// Sources of the policies of an experiment's systems. Any other name refers to a model of the specification.
const (
	OfBase      = "base"
	OfTrained   = "trained"
	OfImitation = "imitation"
	OfExpert    = "expert" // no policies: the environment's expert, which is privileged
)

// SystemKind is a kind of system: whose policies it has, and the way in which they decide. The empty way is the graph.
type SystemKind struct {
	Of  string
	Way string
}

// ParseSystemKind parses a kind such as trained, base-silent or NAME-t3a, where NAME is a model.
func ParseSystemKind(text string) (SystemKind, error) {
	kind := SystemKind{Of: text}
	if at := strings.LastIndexByte(text, '-'); at >= 0 {
		kind.Of = text[:at]
		kind.Way = text[at+1:]
	}
	ways := []string{"", WayAlone, WaySilent, WayOneRound, WayShuffled, WayLiar, WayWhole, WayLess}
	_, agent := kind.agent()
	ok := kind.isSolo() || slices.Contains(ways, kind.Way) || agent
	if !kind.Policies() {
		ok = kind.isSolo() || kind.Of == OfExpert && kind.Way == ""
	}
	if !ok || kind.String() != text {
		return kind, fmt.Errorf("expected base, trained or imitation, alone or followed by -alone, -agentN, -silent, "+
			"-oneround, -shuffled, -liar, -whole, -less, -plain or one of -%s; or the name of a model, followed by "+
			"one of the last; or expert, not %q", strings.Join(prompts.Styles, ", -"), text)
	}

	return kind, nil
}

// Policies reports whether the system has policies of the run. All other systems are the same in all runs.
func (k SystemKind) Policies() bool {
	return slices.Contains([]string{OfBase, OfTrained, OfImitation}, k.Of)
}

// isSolo reports whether the way is a single agent from the literature.
func (k SystemKind) isSolo() bool { return k.Way == WayPlain || slices.Contains(prompts.Styles, k.Way) }

// Learnt reports whether the system has policies that a run trains after stage 1.
func (k SystemKind) Learnt() bool { return k.Of == OfTrained || k.Of == OfImitation }

// String returns the kind in the form that ParseKind parses.
func (k SystemKind) String() string { return strings.TrimSuffix(k.Of+"-"+k.Way, "-") }

// agent returns the number of the agent that decides alone. It returns false if the way names none.
func (k SystemKind) agent() (int, bool) {
	number, ok := strings.CutPrefix(k.Way, wayAgent)
	n, err := strconv.Atoi(number)

	return n, ok && err == nil && n >= 0
}

// Donor returns the kind whose messages a shuffled system or one with a liar reads. It returns false for other systems.
func (k SystemKind) Donor() (SystemKind, bool) {
	return SystemKind{Of: k.Of}, k.Way == WayShuffled || k.Way == WayLiar
}

// Reads reports whether agents of the system read messages in every round of the specification.
func (k SystemKind) Reads() bool {
	return k.Policies() && slices.Contains([]string{"", WayShuffled, WayLiar, WayLess}, k.Way)
}

// System returns the system of this kind with the given policies. It returns an error if the agent does not exist, or
// if a single agent would only read its own messages.
func (k SystemKind) System(specification spec.Spec, policies []string) (EvalSystem, error) {
	switch {
	case k.Of == OfExpert:
		return EvalSystem{Name: k.String(), Recorded: true}, nil
	case k.isSolo():
		return k.soloSystem(specification, policies)
	}

	evalSystem := AllAgents(specification, k.String(), policies)
	n, alone := k.agent()
	switch {
	case alone && n >= len(policies):
		return evalSystem, fmt.Errorf("%s: there are agents 0 to %d", k, len(policies)-1)
	case alone:
		evalSystem.Policies = policies[n : n+1]
		evalSystem.Temperature = evalSystem.Temperature[n : n+1]
		evalSystem.Rounds = 1
	case len(policies) == 1 && k.Way != "":
		return evalSystem, fmt.Errorf("%s: a single agent has no other way to decide", k)
	}

	switch k.Way {
	case WayAlone, WayWhole:
		evalSystem.OneOf = true
		evalSystem.Rounds = 1
		evalSystem.Whole = k.Way == WayWhole
	case WaySilent:
		evalSystem = evalSystem.silenced()
	case WayOneRound:
		evalSystem.Rounds = 1
	case WayShuffled:
		evalSystem.Shuffled = true
	case WayLiar:
		evalSystem.Liar = true
	case WayLess:
		evalSystem.Less = true
	}

	return evalSystem, nil
}

// soloSystem returns a system with a single agent from the literature. It decodes greedily, or at the temperature of
// its model.
func (k SystemKind) soloSystem(specification spec.Spec, policies []string) (EvalSystem, error) {
	system := EvalSystem{Name: k.String(), Rounds: 1, Temperature: []float64{0}, TopP: 1}
	if k.Way != WayPlain {
		system.Style = k.Way
	}
	if k.Policies() {
		system.Policies = policies[:1]
		switch {
		case baselines.Marks(system.Style) && !system.Sees(specification):
			return system, fmt.Errorf("%s: it reads screenshots, which policies see only with observation.kind: both "+
				"or image", k)
		case system.Style != "" && specification.Embedded():
			return system, fmt.Errorf("%s: the embedded policy understands its own prompt only", k)
		}

		return system, nil
	}

	model, ok := specification.Models[spec.Role(k.Of)]
	switch {
	case !ok:
		return system, fmt.Errorf("%s: the specification has no model %q", k, k.Of)
	case baselines.Marks(system.Style) && !model.Images:
		return system, fmt.Errorf("%s: it reads screenshots: set models.%s.images if the model reads images", k, k.Of)
	case system.Style == "" && specification.Observation.Pictured() && !model.Images:
		return system, fmt.Errorf("%s: agents see pictures (observation.kind: %s): set models.%s.images if the model "+
			"reads images", k, specification.Observation.Kind, k.Of)
	}
	system.Model = k.Of
	system.Policies = []string{k.Of}
	system.Temperature = []float64{model.Temperature}

	return system, nil
}
