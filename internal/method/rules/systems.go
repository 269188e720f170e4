package rules

import "github.com/collabui/collabui/internal/method/spec"

// Names of systems in results.
const (
	NameBase1      = "base-1" // one base agent, in the decoding that is better on val
	NameBaseGreedy = "base-1-greedy"
	NameBaseWarm   = "base-1-t0.2"
)

// EvalSystems returns the systems that can be evaluated at an epoch. At epoch 0, these are one base agent in both
// decodings and a system of n agents with the base policy. At later epochs, it is the trained system.
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

	return []EvalSystem{greedy, warm, AllAgents(specification, BaseName(specification.Agents), policies)}
}
