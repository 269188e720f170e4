package rules

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/collabui/collabui/internal/method/spec"
)

// Ways in which the same policies may decide, as experiments compare them. Each changes one thing of the one before:
// alone has one agent, silent has as many votes as the graph has calls, oneround adds the first messages, and the
// graph, without a way, adds the other rounds. Shuffled reads messages of other tasks, less misses one agent.
const (
	WayAlone    = "alone"    // one agent, another one from episode to episode, in one round
	WaySilent   = "silent"   // every agent votes in every round and reads nothing
	WayOneRound = "oneround" // one round of the graph
	WayShuffled = "shuffled" // the graph; the messages are those of another task
	WayLess     = "less"     // the graph without one agent, another one from episode to episode
	wayAgent    = "agent"    // with a number from 0: that agent alone, in one round
)

// Policies that a system of an experiment may have.
const (
	OfBase      = "base"
	OfTrained   = "trained"
	OfImitation = "imitation"
)

// Kind is a kind of system: whose policies it has, and in which way they decide. The empty way is the graph.
type Kind struct {
	Of  string
	Way string
}

// ParseKind reads a kind such as trained or base-silent.
func ParseKind(text string) (Kind, error) {
	of, way, follows := strings.Cut(text, "-")
	k := Kind{Of: of, Way: way}
	ways := []string{"", WayAlone, WaySilent, WayOneRound, WayShuffled, WayLess}
	_, agent := k.agent()
	if !slices.Contains([]string{OfBase, OfTrained, OfImitation}, of) || !slices.Contains(ways, way) && !agent ||
		follows && way == "" {
		return k, fmt.Errorf("expected base, trained or imitation, alone or followed by -alone, -agentN, -silent, "+
			"-oneround, -shuffled or -less, not %q", text)
	}

	return k, nil
}

// String returns what ParseKind reads.
func (k Kind) String() string { return strings.TrimSuffix(k.Of+"-"+k.Way, "-") }

// agent returns the agent that is alone, and whether the way says one.
func (k Kind) agent() (int, bool) {
	number, ok := strings.CutPrefix(k.Way, wayAgent)
	n, err := strconv.Atoi(number)

	return n, ok && err == nil && n >= 0
}

// Donor returns the kind whose messages a shuffled system reads. It is false for other systems.
func (k Kind) Donor() (Kind, bool) { return Kind{Of: k.Of}, k.Way == WayShuffled }

// System returns the system of this kind that some policies make. It is an error if there is no such agent, or if a
// single agent could only talk to itself.
func (k Kind) System(s spec.Spec, policies []string) (EvalSystem, error) {
	e := Together(s, k.String(), policies)
	n, alone := k.agent()
	switch {
	case alone && n >= len(policies):
		return e, fmt.Errorf("%s: there are agents 0 to %d", k, len(policies)-1)
	case alone:
		e.Policies, e.Temperature, e.Rounds = policies[n:n+1], e.Temperature[n:n+1], 1
	case len(policies) == 1 && k.Way != "":
		return e, fmt.Errorf("%s: a single agent has no other way to decide", k)
	}

	switch k.Way {
	case WayAlone:
		e.OneOf, e.Rounds = true, 1
	case WaySilent:
		e.Silent, e.Rounds = true, 1
		e.Policies = slices.Repeat(e.Policies, s.Rounds)
		e.Temperature = slices.Repeat(e.Temperature, s.Rounds)
	case WayOneRound:
		e.Rounds = 1
	case WayShuffled:
		e.Shuffled = true
	case WayLess:
		e.Less = true
	}

	return e, nil
}
