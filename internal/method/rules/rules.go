// Package rules derives the rules of the method from a specification: prompts, decoding, critic, pairs, slots, and what
// is evaluated. Its functions are pure, so that training, evaluation and inference follow the same rules.
//
// It does no I/O.
package rules

import (
	"fmt"
	"slices"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/method/prompts"
	"github.com/collabui/collabui/internal/method/spec"
)

// ShardSize is the number of episodes of one shard of an epoch: a workflow's history and its pending activities stay
// bounded, whatever the epoch's size.
const ShardSize = 200

// Prompt returns the template of a role: that of the specification, or the built-in one.
func Prompt(specification spec.Spec, role string) (*prompts.Prompt, error) {
	text, ok := specification.Prompts[role]
	if !ok {
		prompt, err := prompts.BuiltIn(role)

		return prompt, fault.As(fault.Fatal, err)
	}
	p, err := prompts.Parse(text)
	if err != nil {
		return nil, fault.New(fault.Invalid, "prompt of role %s: %w", role, err)
	}

	return p, nil
}

// Template returns the prompt of the agents.
func Template(specification spec.Spec) (*agents.Template, error) {
	prompt, err := Prompt(specification, prompts.Agent)
	if err != nil {
		return nil, err
	}

	return agents.NewTemplate(prompt, specification.Family())
}

// Bound returns the agents' prompt for what a run's policies read: language models read all, the embedded policy no
// more than over allows, which returns how much of a user message is too much for it.
func Bound(specification spec.Spec, template *agents.Template, over func(user string) int) *agents.Template {
	if template == nil || !specification.Embedded() {
		return template
	}

	return template.Bounded(over)
}

// Decoding returns how the system of n policies decides while it is rolled out on a topology.
func Decoding(s spec.Spec, policies []string, topology domain.Topology) (agents.Config, error) {
	template, err := Template(s)

	return agents.Config{
		Policies: policies, Topology: topology, Template: template,
		Rounds: s.Rounds, Temperature: s.Temperatures(), TopP: s.Decoding.TopP, MaxTokens: s.Decoding.MaxTokens,
		VoteScope: s.VoteScope, Answers: s.Answers,
	}, err
}

// Pairing returns the rules by which the preference pairs of an episode are made, which was played on a topology. Under
// a critic they do not depend on what the update optimises, so RFT learns from the same chosen answers as DPO. Without
// one, RFT is the cloning of what was executed, and needs no rejected answers.
func Pairing(s spec.Spec, topology domain.Topology, slot domain.Slot) credit.Rules {
	return credit.Rules{
		Candidates: s.Adversary.Candidates, Negatives: s.Pairs.Negatives, Cells: s.Pairs.Cells, Topology: topology,
		PerStep: s.Pairs.PerStep, PerEpisode: s.Pairs.PerEpisode,
		Correction:  s.Pairs.Kind == spec.PairsCorrection && s.Credit == spec.CreditCritic,
		OutcomeOnly: s.Credit != spec.CreditCritic,
		ChosenOnly:  s.Clones(),
		Seed:        slot.Seed,
		Answers:     s.Answers,
	}
}

// Weigh sets the weights of the pairs of a data set. Types are balanced only where rejected answers are learned from.
func Weigh(specification spec.Spec, pairs []domain.Example, preference bool) {
	credit.Balance(pairs, specification.Pairs.MaxWeight)
	if preference && specification.Pairs.BalanceTypes {
		credit.BalanceTypes(pairs)
	}
}

// Names of critics that are not models, as they appear next to results.
const (
	CriticOracle  = "oracle (privileged)"
	CriticOutcome = "outcome"

	CriticAdvantage = "advantage under a value learnt from outcomes"
)

// CriticName returns the name of a run's critic as it appears wherever its results are shown.
func CriticName(given spec.Spec, catalog spec.Catalog) string {
	switch {
	case given.Credit == spec.CreditOutcome:
		return CriticOutcome
	case given.Credit == spec.CreditAdvantage:
		return CriticAdvantage
	case given.Critic.Model == spec.RoleOracle && given.Critic.WrongOn != "":
		return fmt.Sprintf("%s, %.0f %% of its labels flipped, and all of %s", CriticOracle, 100*given.Critic.Error,
			given.Critic.WrongOn)
	case given.Critic.Model == spec.RoleOracle && given.Critic.Error > 0:
		return fmt.Sprintf("%s, %.0f %% of its labels flipped", CriticOracle, 100*given.Critic.Error)
	case given.Critic.Model == spec.RoleOracle && given.Recorded(catalog, given.Environment):
		return CriticOracle + ": the recorded action, so this is supervised learning"
	case given.Critic.Model == spec.RoleOracle:
		return CriticOracle
	}

	return RoleName(given, given.Critic.Model, "")
}

// RoleName returns who plays a role: a model of the specification by both of its names, or otherwise.
func RoleName(specification spec.Spec, name spec.Role, otherwise string) string {
	if model, ok := specification.Models[name]; ok {
		return fmt.Sprintf("%s (%s)", name, model.Model)
	}

	return otherwise
}

// Topology returns E_k, the graph of an epoch; prev is that of the epoch before, nil in the first.
func Topology(specification spec.Spec, epoch int, prev *domain.Topology) domain.Topology {
	switch {
	case specification.Edges == spec.EdgesNone:
		return domain.Topology{Agents: specification.Agents, Edges: [][2]int{}}
	case !specification.EdgeUpdate:
		return domain.RandomTopology(specification.Seed, 1, specification.Agents, nil)
	}

	return domain.RandomTopology(specification.Seed, epoch, specification.Agents, prev)
}

// Slot draws slot n of an epoch, or its replacement r, from (seed, epoch, n, r). All of these are known beforehand, so
// completion order changes nothing. Templates take turns, in an order drawn for the epoch, so that every template gets
// its share; those in focus take turns in their share of the slots.
func Slot(specification spec.Spec, suite envadapters.Suite, epoch, n, r int) (domain.Slot, error) {
	ts, err := suite.Templates(domain.SplitTrain)
	if err != nil {
		return domain.Slot{}, err
	}
	ts = slices.DeleteFunc(slices.Clone(ts), func(template envadapters.Template) bool {
		return slices.Contains(specification.Quarantine, template.Name)
	})
	if len(ts) == 0 {
		return domain.Slot{}, fault.New(fault.Invalid,
			"environment %q has no training templates outside of quarantine", specification.Environment)
	}
	ts, turn, drawn := inTurn(specification.Focus, ts, n)
	order := domain.Rand(specification.Seed, append(drawn, epoch)...).Perm(len(ts))
	t := ts[order[(turn+r)%len(ts)]]

	return domain.Slot{
		Epoch: epoch, Number: n, Replacement: r, Seed: domain.Seed(specification.Seed, "calls", epoch, n, r),
		Task: domain.Task{
			Suite: specification.Environment, Template: t.Name, Split: domain.SplitTrain,
			Seed: domain.Seed(specification.Seed, "task", epoch, n, r), MaxSteps: t.MaxSteps,
		},
	}, nil
}

// inTurn returns the templates from which slot n is drawn, the number of slots before n that are drawn from them, and
// the path of the draw of their order. The slots in focus are spread evenly.
func inTurn(focus spec.Focus, ts []envadapters.Template, n int) (from []envadapters.Template, turn int, draw []any) {
	var focused, others []envadapters.Template
	for _, template := range ts {
		if focus.Has(template.Name) {
			focused = append(focused, template)
		} else {
			others = append(others, template)
		}
	}
	if len(focused) == 0 || len(others) == 0 {
		return ts, n - 1, []any{"templates"}
	}

	before := int(float64(n-1) * focus.Share)
	now := int(float64(n) * focus.Share)
	if now > before {
		return focused, before, []any{"templates", "focus"}
	}

	return others, n - 1 - before, []any{"templates", "others"}
}
