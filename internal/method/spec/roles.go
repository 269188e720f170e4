package spec

import (
	"maps"
	"slices"
	"strings"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/prompts"
)

// Role names the player of a role of the method: a name under models, or one of the constants, which need no endpoint.
type Role string

// Players that need no chat endpoint.
const (
	RolePolicy   Role = "policy"   // the policies under training, on the policy servers
	RoleOracle   Role = "oracle"   // the environment's judge (privileged)
	RoleExpert   Role = "expert"   // the environment's expert (privileged)
	RoleTemplate Role = "template" // fixed rules instead of a model
	RoleRandom   Role = "random"   // random actions instead of a model
)

var reserved = []Role{RolePolicy, RoleOracle, RoleExpert, RoleTemplate, RoleRandom}

// Critic labels every cell.
type Critic struct {
	Model Role        `json:"model"` // RoleOracle or a model
	Rule  CriticRule  `json:"rule"`
	Scope CriticScope `json:"scope"`
	// Error is the share of the oracle's labels that are flipped at random, from 0 to 0.5. At 0.5 they are pure noise.
	Error float64 `json:"error,omitempty"`
	// WrongOn is an action type whose labels are always flipped, which is an error that does not average out.
	WrongOn string `json:"wrong_on,omitempty"`
	// Messages specifies how acts of speech are labelled.
	Messages MessageCredit `json:"messages"`
	// Asks bounds the answers of readers that are sampled again to label the messages of one step.
	Asks int `json:"asks"`
}

// MessageCredit specifies how acts of speech are labelled.
type MessageCredit string

// Ways to label acts of speech.
const (
	// MessagesByEffect labels a message by whether more or fewer of its readers are right with it than without it.
	MessagesByEffect MessageCredit = "effect"
	// MessagesAsActions labels a message as an action that is never right.
	MessagesAsActions MessageCredit = "action"
	// MessagesUnlabelled labels all messages as uncertain.
	MessagesUnlabelled MessageCredit = "none"
)

// CriticRule derives labels from a model's scores.
type CriticRule string

// Rules of critics.
const (
	RuleRobust CriticRule = "robust" // 1 from 0.7, 0 up to 0.3, uncertain between
	RulePaper  CriticRule = "paper"  // 1 from 0.5, otherwise 0
)

// CriticScope specifies which cells a critic grades in one call.
type CriticScope string

// Scopes of critics.
const (
	ScopeStep  CriticScope = "step"
	ScopeRound CriticScope = "round"
)

// Adversary proposes plausible wrong answers.
type Adversary struct {
	Model       Role    `json:"model"` // RolePolicy (the agent's own policy), RoleRandom or a model
	Temperature float64 `json:"temperature"`
	TopP        float64 `json:"top_p"`
	Candidates  int     `json:"candidates"` // K
}

// Prompted reports whether the adversary is a chat model with a prompt of its own.
func (a Adversary) Prompted() bool { return a.Model != RolePolicy && a.Model != RoleRandom }

// Summariser writes a step's line of the history.
type Summariser struct {
	Model Role       `json:"model"` // RoleTemplate or a model
	Notes NoteWriter `json:"notes"` // what writes the history's line of notes
}

// NoteWriter specifies what writes the line of notes at the end of the history.
type NoteWriter string

// Writers of notes.
const (
	NotesNone       NoteWriter = "none"       // there are no notes
	NotesPolicy     NoteWriter = "policy"     // the agents, in a line of their answers
	NotesSummariser NoteWriter = "summariser" // the summariser's model
)

// checkRoles checks the players of all roles and their parameters.
func (s Spec) checkRoles(must Must) {
	oracle := s.Critic.Model == RoleOracle && s.Credit == CreditCritic
	must.within(s.Critic.Error, "critic.error", 0, 0.5)
	must(s.Critic.Error == 0 || oracle, "critic.error", "0 where the critic is not the oracle")
	must(s.Critic.WrongOn == "" || oracle, "critic.wrong_on", "nothing where the critic is not the oracle")
	types := domain.ActionTypes(s.Family())
	must(s.Critic.WrongOn == "" || slices.Contains(types, s.Critic.WrongOn), "critic.wrong_on",
		"one of %s, not %q", List(types), s.Critic.WrongOn)

	oneOf(must, s.Critic.Messages, "critic.messages", MessagesByEffect, MessagesAsActions, MessagesUnlabelled)
	must.count(s.Critic.Asks, "critic.asks", 0, 10000)

	must.within(s.Adversary.Temperature, "adversary.temperature", 0, 100)
	must(s.Adversary.Temperature > 0 || !s.Adversary.Prompted(), "adversary.temperature",
		"a number above 0 where a model proposes: at 0, it would propose the same mistakes in every epoch")
	must.within(s.Adversary.TopP, "adversary.top_p", 0.01, 1)
	must.count(s.Adversary.Candidates, "adversary.candidates", 1, 64)

	plays := func(player Role, field string, builtin Role, others ...Role) {
		_, ok := s.Models[player]
		names := string(builtin)
		for _, other := range others {
			names += ", " + string(other)
		}
		must(ok || player == builtin || slices.Contains(others, player), field, "%s or a name under models, not %q",
			names, player)
	}
	oneOf(must, s.Summariser.Notes, "summariser.notes", NotesNone, NotesPolicy, NotesSummariser)
	must(s.Summariser.Notes != NotesPolicy || !s.Embedded(), "summariser.notes",
		"none, or summariser with a model: the embedded policy cannot write notes")
	must(s.Summariser.Notes != NotesSummariser || s.Summariser.Model != RoleTemplate, "summariser.notes",
		"none or policy: fixed rules write no notes, so name a model as summariser.model")
	plays(s.Critic.Model, "critic.model", RoleOracle)
	plays(s.Adversary.Model, "adversary.model", RolePolicy, RoleRandom)
	plays(s.Synthesis.Agent, "synthesis.agent", RoleExpert)
	plays(s.Synthesis.Author, "synthesis.author", RoleTemplate)
	plays(s.Summariser.Model, "summariser.model", RoleTemplate)
}

// checkPrompts checks that the templates belong to known roles and can be parsed.
func (s Spec) checkPrompts(must Must) {
	for _, role := range slices.Sorted(maps.Keys(s.Prompts)) {
		roles := slices.Concat(prompts.Roles, prompts.Styles)
		must(slices.Contains(roles, role), "prompts."+role, "one of the roles %s", strings.Join(roles, ", "))

		_, err := prompts.Parse(s.Prompts[role])
		must(err == nil, "prompts."+role, "a prompt template: %v", err)
	}
}
