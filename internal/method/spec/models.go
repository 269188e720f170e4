package spec

import (
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/prompts"
)

// Names of what plays a role without a chat endpoint.
const (
	RolePolicy   = "policy"   // the policies under training, on the policy server
	RoleOracle   = "oracle"   // the environment's judge: privileged
	RoleExpert   = "expert"   // the environment's expert: privileged
	RoleTemplate = "template" // fixed rules, no model
)

// Model is one chat endpoint. Its key never stands in a specification: key names the environment variable that holds it (or, with _FILE behind the name,
// the file that does), and a header's value that begins with $ is taken from the environment likewise.
type Model struct {
	BaseURL           string            `json:"base_url" yaml:"base_url"`                                 // up to and with /v1
	Model             string            `json:"model" yaml:"model"`                                       // the server's name for it
	Key               string            `json:"key" yaml:"key"`                                           // environment variable; empty: no key is sent
	Headers           map[string]string `json:"headers,omitempty" yaml:"headers"`                         // added to every request
	CA                string            `json:"ca,omitempty" yaml:"ca"`                                   // file with further root certificates, on the worker's host
	Proxy             string            `json:"proxy,omitempty" yaml:"proxy"`                             // URL; default: the environment's
	Timeout           float64           `json:"timeout" yaml:"timeout"`                                   // seconds, of one call
	MaxTokens         int               `json:"max_tokens" yaml:"max_tokens"`                             // of one answer, thinking included
	Temperature       float64           `json:"temperature" yaml:"temperature"`                           // where the role gives none
	RequestsPerMinute int               `json:"requests_per_minute,omitempty" yaml:"requests_per_minute"` // of all workers together; 0: no limit
	TokensPerMinute   int               `json:"tokens_per_minute,omitempty" yaml:"tokens_per_minute"`     // prompt and answer, of all workers together; 0: no limit
	Schema            string            `json:"schema" yaml:"schema"`                                     // json_schema | json_object | none: how JSON answers are asked for
	Images            bool              `json:"images" yaml:"images"`                                     // the model takes screenshots
	Logprobs          bool              `json:"logprobs" yaml:"logprobs"`                                 // the server gives them
	Seeds             bool              `json:"seeds" yaml:"seeds"`                                       // the server takes seeds
	Price             Price             `json:"price" yaml:"price"`
}

// Price per million tokens, in one currency for all endpoints of a run.
type Price struct {
	Prompt float64 `json:"prompt" yaml:"prompt"`
	Cached float64 `json:"cached" yaml:"cached"` // of a prompt's tokens that came from the server's cache; 0: as prompt
	Answer float64 `json:"answer" yaml:"answer"` // thinking included
}

// Budget of a run's calls to chat endpoints; 0 is no limit. Recorded calls are counted; reaching it pauses the run.
type Budget struct {
	Money  float64 `json:"money" yaml:"money"` // in the currency of the prices
	Tokens int     `json:"tokens" yaml:"tokens"`
}

// Of is what a call costs.
func (p Price) Of(u domain.Usage) float64 {
	cached := p.Cached
	if cached == 0 {
		cached = p.Prompt
	}
	return (float64(u.Prompt-u.Cached)*p.Prompt + float64(u.Cached)*cached + float64(u.Answer)*p.Answer) / 1e6
}

// DefaultModel is what a model's entry begins with.
func DefaultModel() Model {
	return Model{Timeout: 120, MaxTokens: 4000, Schema: "json_schema", Seeds: true}
}

var (
	envName  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	reserved = []string{RolePolicy, RoleOracle, RoleExpert, RoleTemplate}
)

// checkModels says which values of models and roles are impossible.
func (s Spec) checkModels(must func(ok bool, field, expected string, args ...any)) {
	for _, name := range slices.Sorted(maps.Keys(s.Models)) {
		m := s.Models[name]
		f := "models." + name
		must(runName.MatchString(name) && !slices.Contains(reserved, name), f, "a name of 1 to 40 lower-case letters, digits and dashes, and none of %v", reserved)
		u, err := url.Parse(m.BaseURL)
		must(err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil, f+".base_url", "a URL with http or https, a host and no password, for example http://127.0.0.1:8000/v1, not %q", m.BaseURL)
		must(m.Model != "", f+".model", "the server's name of the model")
		must(m.Key == "" || envName.MatchString(m.Key), f+".key", "the name of an environment variable that holds the key, never the key itself")
		for h, v := range m.Headers {
			must(!strings.EqualFold(h, "Authorization") || strings.HasPrefix(v, "$"), f+".headers."+h, "$NAME of an environment variable: secrets never stand in a specification")
		}
		must(m.Timeout >= 0.1 && m.Timeout <= 3600, f+".timeout", "0.1 to 3600 seconds, not %v", m.Timeout)
		must(m.RequestsPerMinute >= 0, f+".requests_per_minute", "a whole number from 0")
		must(m.TokensPerMinute >= 0, f+".tokens_per_minute", "a whole number from 0")
		must(m.MaxTokens >= 1, f+".max_tokens", "a whole number from 1")
		must(m.Temperature >= 0 && m.Temperature <= 10, f+".temperature", "a number from 0 to 10")
		must(slices.Contains([]string{"json_schema", "json_object", "none"}, m.Schema), f+".schema", "one of [json_schema json_object none], not %q", m.Schema)
		must(m.Price.Prompt >= 0 && m.Price.Cached >= 0 && m.Price.Answer >= 0, f+".price", "numbers from 0, per million tokens")
	}
	for _, role := range slices.Sorted(maps.Keys(s.Prompts)) {
		text := s.Prompts[role]
		_, err := prompts.Default(role)
		must(err == nil, "prompts."+role, "one of the roles %v", prompts.Roles)
		_, err = prompts.Parse(text)
		must(err == nil, "prompts."+role, "a prompt template: %v", err)
	}
	must(s.Budget.Money >= 0, "budget.money", "a number from 0")
	must(s.Budget.Tokens >= 0, "budget.tokens", "a whole number from 0")
	role := func(field, name string, without ...string) {
		_, ok := s.Models[name]
		must(ok || slices.Contains(without, name), field, "%s or a name under models, not %q", strings.Join(without, ", "), name)
	}
	role("critic.model", s.Critic.Model, RoleOracle)
	role("adversary.model", s.Adversary.Model, RolePolicy)
	role("synthesis.agent", s.Synthesis.Agent, RoleExpert)
	role("synthesis.author", s.Synthesis.Author, RoleTemplate)
	role("summariser.model", s.Summariser.Model, RoleTemplate)
}
