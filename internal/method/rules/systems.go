package rules

import (
	"slices"

	"github.com/collabui/collabui/internal/method/spec"
)

// silenced returns the system without messages: every agent votes as often as it has rounds.
func (e EvalSystem) silenced() EvalSystem {
	e.Silent = true
	e.Policies = slices.Repeat(e.Policies, e.Rounds)
	e.Temperature = slices.Repeat(e.Temperature, e.Rounds)
	e.Rounds = 1

	return e
}

// Names of systems in results.
const (
	NameBase1      = "base-1" // one base agent, in the decoding that is better on val
	NameBaseGreedy = "base-1-greedy"
	NameBaseWarm   = "base-1-t0.2"
)

// SilentName returns the name of the base system whose n agents hear nothing.
func SilentName(n int) string { return BaseName(n) + "-" + WaySilent }

// EvalSystems returns the systems that can be evaluated at an epoch. At epoch 0, these are one base agent in both
// decodings, a system of n agents with the base policy and, if agents may speak, the same system without messages. At
// later epochs, it is the trained system.
func EvalSystems(specification spec.Spec, epoch int, policies []string) []EvalSystem {
	if epoch > 0 {
		return []EvalSystem{AllAgents(specification, TrainedName(specification.Agents), policies)}
	}

	one := EvalSystem{Policies: policies[:1], Rounds: 1, TopP: specification.Decoding.TopP}
	greedy := one
	warm := one
	greedy.Name = NameBaseGreedy
	greedy.Temperature = []float64{0}
	warm.Name = NameBaseWarm
	warm.Temperature = []float64{0.2}
	if specification.Agents == 1 {
		return []EvalSystem{greedy, warm}
	}

	all := []EvalSystem{greedy, warm, AllAgents(specification, BaseName(specification.Agents), policies)}
	if specification.Speech {
		silent := AllAgents(specification, SilentName(specification.Agents), policies).silenced()
		all = append(all, silent)
	}

	return all
}
