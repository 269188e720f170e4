package rules

import (
	"fmt"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/spec"
)

// Names of systems in results.
const (
	NameBase1      = "base-1" // one base agent, in the better of the two decodings on val
	NameBaseGreedy = "base-1-greedy"
	NameBaseWarm   = "base-1-t0.2"

	// NameVotes is the base policy with as many silent votes as the system has cells: what voting alone adds.
	NameVotes = "base-1-votes"
	// NameAlone is one trained agent alone, another one from episode to episode: the mean of the trained agents.
	NameAlone = "alone"
	// NameImitation is SFT on the chosen answers of the same pairs for the same number of optimiser steps: is training
	// more than imitation of the critic?
	NameImitation = "imitation"
)

// EvalSystems returns what can be evaluated at an epoch: of epoch 0 one base agent in both decodings and the base
// policy n times, of others the trained system.
func EvalSystems(s spec.Spec, epoch int, policies []string) []EvalSystem {
	if epoch > 0 {
		return []EvalSystem{Together(s, TrainedName(s.Agents), policies)}
	}

	one := EvalSystem{Policies: policies[:1], Rounds: 1, TopP: s.Decoding.TopP}
	greedy, warm := one, one
	greedy.Name, greedy.Temperature = NameBaseGreedy, []float64{0}
	warm.Name, warm.Temperature = NameBaseWarm, []float64{0.2}
	if s.Agents == 1 {
		return []EvalSystem{greedy, warm}
	}

	return []EvalSystem{greedy, warm, Together(s, BaseName(s.Agents), policies)}
}

// Reproduction says which systems of a finished run are compared.
type Reproduction struct {
	Spec      spec.Spec
	Run       string
	Episodes  int          // episodes per system and split
	Apps      bool         // the environment has the split test-apps
	Base1     string       // the decoding of one base agent that was better on val
	Base      []EvalSystem // systems of epoch 0
	Trained   []string     // policies of the best epoch; nil without epochs
	Imitation []string     // policies of the imitation control; nil until they are trained
}

// Items returns what is evaluated. What serves one comparison on test-seeds only is played on no other split.
func (r Reproduction) Items() []EvalItem {
	s := r.Spec
	var items []EvalItem
	add := func(e EvalSystem, splits ...string) {
		for _, split := range splits {
			items = append(items, Split{Name: split, Episodes: r.Episodes}.Item(r.Run, ReproduceFolder, e))
		}
	}
	all := []string{domain.SplitTestSeeds, domain.SplitTestTemplates}
	if r.Apps {
		all = append(all, domain.SplitTestApps)
	}

	var one EvalSystem
	for _, x := range r.Base {
		switch x.Name {
		case r.Base1:
			one = x
			one.Name = NameBase1
			add(one, all...)
		case BaseName(s.Agents):
			add(x, all...)
		}
	}

	votes := EvalSystem{Name: NameVotes, Rounds: 1, TopP: s.Decoding.TopP, Silent: true}
	temperatures := s.Temperatures()
	for i := range s.Agents * s.Rounds {
		votes.Policies = append(votes.Policies, one.Policies[0])
		votes.Temperature = append(votes.Temperature, temperatures[i%len(temperatures)])
	}
	add(votes, domain.SplitTestSeeds)
	if r.Trained == nil {
		return items
	}

	add(Together(s, TrainedName(s.Agents), r.Trained), all...)
	add(EvalSystem{
		Name: NameAlone, Policies: r.Trained, OneOf: true, Rounds: 1,
		Temperature: one.Temperature, TopP: s.Decoding.TopP,
	}, domain.SplitTestSeeds)
	if r.Imitation != nil {
		add(Together(s, fmt.Sprintf("%s-%d", NameImitation, s.Agents), r.Imitation), all...)
	}

	return items
}
