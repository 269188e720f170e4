// Package rules derives the rules of the method from a specification: prompts, decoding, critic, pairs, slots, and
// evaluations. Its functions are pure, so training, evaluation and inference follow the same rules.
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

// ShardSize is the maximum number of episodes in a shard of an epoch. It bounds a workflow's history and its pending
// activities for epochs of any size.
const ShardSize = 200

// Prompt returns the template of a role from the specification, or the built-in template. A template that cannot be
// parsed is an invalid fault.
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

// Template returns the agents' prompt.
func Template(specification spec.Spec) (*agents.Template, error) {
	prompt, err := Prompt(specification, prompts.Agent)
	if err != nil {
		return nil, err
	}

	template, err := agents.NewTemplate(prompt, specification.Family(), specification.Speech)
	if err != nil {
		return nil, err
	}

	template = template.Limited(specification.Prompt).Presenting(specification.Observation)
	if specification.Summariser.Notes == spec.NotesPolicy {
		return template.Noting()
	}

	return template, nil
}

// Bound adapts the agents' prompt to the run's policies: the template leaves out parts of a user message that is too
// long. over returns by how much it is too long for the embedded policy, or 0. For language models, the number of
// tokens is estimated.
func Bound(specification spec.Spec, template *agents.Template, over func(user string) int) *agents.Template {
	limit := specification.Prompt.Tokens
	switch {
	case template == nil:
		return nil
	case specification.Embedded():
		return template.Bounded(over)
	case limit == 0:
		return template
	}
	room := limit - agents.EstimateTokens(template.System())

	return template.Bounded(func(user string) int { return max(0, agents.EstimateTokens(user)-room) })
}

// Decoding returns how a system decides on a topology in an episode with a seed.
func Decoding(s spec.Spec, policies []string, topology domain.Topology, seed uint64) (agents.Config, error) {
	template, err := Template(s)

	return agents.Config{
		Policies: policies, Topology: topology, Template: template,
		Rounds: s.Rounds, Temperature: s.Temperatures(), TopP: s.Decoding.TopP, MaxTokens: s.Decoding.MaxTokens,
		VoteScope: s.VoteScope, Answers: s.Answers,
		Views: s.Views, Regions: s.Agents, ViewSeed: domain.Seed(seed, "views"), Speech: s.Speech, Reads: s.Reads,
		Notes: s.Summariser.Notes == spec.NotesPolicy,
	}, err
}

// Reader returns how the answers of a run's agents are read.
func Reader(specification spec.Spec) agents.Reader {
	return agents.Reader{Parsing: specification.Answers, Speech: specification.Speech}
}

// Pairing returns the rules for making the preference pairs of a slot's episode, which was played on the topology. For
// RFT, they make one row of every right answer of an agent, without a rejected answer and without corrections.
func Pairing(s spec.Spec, topology domain.Topology, slot domain.Slot) credit.Rules {
	corrects := s.Credit == spec.CreditCritic && !s.Clones()

	return credit.Rules{
		Candidates: s.Adversary.Candidates, Negatives: s.Pairs.Negatives, Cells: s.Pairs.Cells, Topology: topology,
		PerStep: s.Pairs.PerStep, PerEpisode: s.Pairs.PerEpisode,
		Correction:  corrects && s.Pairs.Kind != spec.PairsPositive,
		Resist:      corrects && s.Pairs.Kind == spec.PairsResist,
		Right:       s.LearnsRight(),
		Speech:      Speech(s),
		Reads:       s.Reads,
		OutcomeOnly: s.Credit != spec.CreditCritic,
		ChosenOnly:  s.Clones(),
		Seed:        slot.Seed,
		Answers:     Reader(s),
	}
}

// Speech returns how the acts of speech among an adversary's candidates are judged.
func Speech(specification spec.Spec) credit.SpeechRule {
	switch specification.Critic.Messages {
	case spec.MessagesAsActions:
		return credit.SpeechAsAction
	case spec.MessagesUnlabelled:
		return credit.SpeechUnlabelled
	}

	return credit.SpeechByEffect
}

// Weigh sets the weights of the rows of a data set. Types are balanced only if the update learns from rejected answers.
// The right answers that are rows of their own are weighed apart from the pairs, whose weights do not depend on them.
func Weigh(specification spec.Spec, rows []domain.Example, preference bool) {
	if !specification.LearnsRight() {
		weigh(specification, rows, preference)

		return
	}
	pairs, right := SplitRows(rows)
	weigh(specification, pairs, preference)
	weigh(specification, right, false)
	for i, row := range rows {
		if row.Source == domain.SourceNone {
			rows[i] = right[0]
			right = right[1:]
		} else {
			rows[i] = pairs[0]
			pairs = pairs[1:]
		}
	}
}

func weigh(specification spec.Spec, pairs []domain.Example, preference bool) {
	credit.Balance(pairs, specification.Pairs.MaxWeight)
	if preference && specification.Pairs.BalanceTypes {
		credit.BalanceTypes(pairs)
	}
}

// SplitRows returns the rows of a data set that compare or value answers, and the right answers that are rows of their
// own.
func SplitRows(rows []domain.Example) (pairs, right []domain.Example) {
	for _, row := range rows {
		if row.Source == domain.SourceNone {
			right = append(right, row)
		} else {
			pairs = append(pairs, row)
		}
	}

	return pairs, right
}

// Names of critics that are not models, as shown with results.
const (
	CriticOracle  = "oracle (privileged)"
	CriticOutcome = "outcome"

	CriticAdvantage = "advantage under a value learnt from outcomes"
)

// CriticName returns the name of a run's critic, as shown with its results.
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

// RoleName returns the name of a role's player: the name and the server's name of a model of the specification, or
// otherwise.
func RoleName(specification spec.Spec, name spec.Role, otherwise string) string {
	if model, ok := specification.Models[name]; ok {
		return fmt.Sprintf("%s (%s)", name, model.Model)
	}
	if name == spec.RoleRandom {
		return "random actions"
	}

	return otherwise
}

// Topology returns E_k, the graph of epoch k. prev is the graph of the previous epoch, or nil in the first epoch.
func Topology(specification spec.Spec, epoch int, prev *domain.Topology) domain.Topology {
	switch {
	case specification.Edges == spec.EdgesNone:
		return domain.Topology{Agents: specification.Agents, Edges: [][2]int{}}
	case !specification.EdgeUpdate:
		return domain.RandomTopology(specification.Seed, 1, specification.Agents, nil)
	}

	return domain.RandomTopology(specification.Seed, epoch, specification.Agents, prev)
}

// DemonstrationTopology returns the graph over which the expert of stage 1 speaks in a slot.
func DemonstrationTopology(specification spec.Spec, slot domain.Slot) domain.Topology {
	if specification.Edges == spec.EdgesNone {
		return domain.Topology{Agents: specification.Agents, Edges: [][2]int{}}
	}

	return domain.RandomTopology(slot.Seed, 0, specification.Agents, nil)
}

// Slot draws slot n of an epoch, or its replacement r, from (seed, epoch, n, r). All of these are known beforehand, so
// the order of completion has no effect. Templates take turns in an order drawn for the epoch, so every template gets
// its share. Templates in focus take turns in their own share of the slots. A suite without training templates is an
// invalid fault.
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
	ts, position, path := turnOf(specification.Focus, ts, n)
	order := domain.Rand(specification.Seed, append(path, epoch)...).Perm(len(ts))
	t := ts[order[(position+r)%len(ts)]]

	return domain.Slot{
		Epoch: epoch, Number: n, Replacement: r, Seed: domain.Seed(specification.Seed, "calls", epoch, n, r),
		Task: domain.Task{
			Suite: specification.Environment, Template: t.Name, Split: domain.SplitTrain,
			Seed: domain.Seed(specification.Seed, "task", epoch, n, r), MaxSteps: t.MaxSteps,
		},
	}, nil
}

// turnOf returns the templates from which slot n is drawn, the number of slots before n that are drawn from them, and
// the path of the seed that draws their order. The slots in focus are spread evenly.
func turnOf(focus spec.Focus, ts []envadapters.Template, n int) (from []envadapters.Template, turn int, draw []any) {
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
