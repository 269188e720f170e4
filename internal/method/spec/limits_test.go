package spec_test

import (
	"strings"
	"testing"

	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/prompts"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/workers/catalog"
)

func TestThePromptsOfLanguageModelsHaveRoom(t *testing.T) {
	withTokens := func(limits agents.Limits, tokens int) agents.Limits {
		limits.Tokens = tokens

		return limits
	}
	changed := withTokens(agents.ModelLimits, 3096)
	changed.Element = 300
	const large = "name: a\ntrainer: {name: llamafactory, options: {model: /m"
	for name, c := range map[string]struct {
		text string
		want agents.Limits
	}{
		"the embedded policy":    {"name: a\n", agents.SmallLimits},
		"a language model":       {large + "}}\n", withTokens(agents.ModelLimits, 4096-1000)},
		"a small cutoff":         {large + ", cutoff: 600}}\n", withTokens(agents.ModelLimits, 300)},
		"short answers":          {large + "}}\ndecoding: {max_tokens: 96}\n", withTokens(agents.ModelLimits, 4000)},
		"one key is given":       {large + "}}\nprompt: {element: 300}\n", changed},
		"the number of tokens":   {large + "}}\nprompt: {tokens: 0}\n", agents.ModelLimits},
		"one key of the default": {"name: a\nprompt: {tokens: 0}\n", agents.SmallLimits},
	} {
		t.Run(name, func(t *testing.T) {
			s := parse(t, c.text)
			if s.Prompt != c.want {
				t.Errorf("prompt = %+v, want %+v", s.Prompt, c.want)
			}
			raw, err := s.YAML()
			if err != nil {
				t.Fatal(err)
			}
			again, err := spec.Parse(spec.Source{}, raw, catalog.All{})
			if err != nil || again.Prompt != c.want {
				t.Errorf("written and read, prompt = %+v, %v; want %+v", again.Prompt, err, c.want)
			}
		})
	}
}

func TestImpossibleLimitsAreRefused(t *testing.T) {
	mistakes{
		"prompt: {element: 0}":            "prompt.element: expected a whole number from 10 to 100000, not 0",
		"prompt: {history: 0}":            "prompt.history: expected a whole number from 1 to 10000, not 0",
		"prompt: {line: 9}":               "prompt.line: expected a whole number from 40 to 100000, not 9",
		"prompt: {goal: 1}":               "prompt.goal: expected a whole number from 10 to 100000, not 1",
		"prompt: {message: 50}":           "prompt.message: expected a whole number from 100 to 100000, not 50",
		"prompt: {notes: 1}":              "prompt.notes: expected a whole number from 20 to 100000, not 1",
		"prompt: {tokens: -1}":            "prompt.tokens: expected a whole number from 0 to 10000000, not -1",
		"summariser: {notes: policy}":     "summariser.notes: expected none, or summariser with a model: the embedded",
		"summariser: {notes: all}":        "summariser.notes: expected one of none, policy, summariser, not",
		"summariser: {notes: summariser}": "summariser.notes: expected none or policy: fixed rules write no notes",
		"models: {m: {base_url: http://h/v1, model: x}}\nadversary: {model: m, temperature: 0}": "adversary.temperature: " +
			"expected a number above 0 where a model proposes",
	}.check(t, "name: a\n")
}

func TestTheShortTemplateIsBuiltIn(t *testing.T) {
	s := parse(t, "name: a\ntrainer: {name: llamafactory, options: {model: /m}}\nprompts: {agent: short}\n"+
		"summariser: {notes: policy}\n")
	want, _ := prompts.Variant(prompts.Agent, prompts.Short)
	if got := s.Prompts[prompts.Agent]; got != want || want == "" {
		t.Fatalf("prompts.agent = %q, want the built-in template", got)
	}
	template, err := rules.Template(s)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(template.System(), "Note: ") || len(template.System()) > 700 {
		t.Errorf("the system prompt is %q, want a short one that offers notes", template.System())
	}
	mistakes{
		"prompts: {critic: short}": "prompts.critic: expected a file with a prompt template",
	}.check(t, "name: a\n")
}
