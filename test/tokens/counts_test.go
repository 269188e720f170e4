//go:build integration

package tokens_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/prompts"
)

// TestTheTokensOfBuiltInPromptsAreDocumented counts the system prompts of all roles and agents of the literature, and
// compares the counts with docs/results/tokens.md. On a difference, it prints the table for the page.
func TestTheTokensOfBuiltInPromptsAreDocumented(t *testing.T) {
	var names, texts []string
	add := func(name, role, text, family string) {
		prompt, err := prompts.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		system, err := prompt.Render("system", struct {
			prompts.Forms
			Images bool
			Verbs  []string
		}{Forms: prompts.FormsOf(family)})
		if role == prompts.Agent {
			var template *agents.Template
			template, err = agents.NewTemplate(prompt, domain.Family(family), false)
			system = template.System()
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
		texts = append(texts, system)
	}
	for _, family := range []string{"mobile", "web"} {
		for _, role := range append(prompts.Roles, prompts.Styles...) {
			text, err := prompts.Default(role)
			if err != nil {
				t.Fatal(err)
			}
			add(role+", "+family, role, text, family)
		}
		short, _ := prompts.Variant(prompts.Agent, prompts.Short)
		add("agent: short, "+family, prompts.Agent, short, family)
	}

	counts := countTokens(t, texts)
	table := "| prompt | characters | SmolLM2 | Qwen |\n|---|---|---|---|\n"
	for i, name := range names {
		table += fmt.Sprintf("| %s | %d | %d | %d |\n", name, len(texts[i]), counts["SmolLM2"][i], counts["Qwen"][i])
		if estimate := agents.EstimateTokens(texts[i]); counts["SmolLM2"][i] > estimate {
			t.Errorf("%s has %d tokens, want at most the estimate, %d", name, counts["SmolLM2"][i], estimate)
		}
	}
	page, err := os.ReadFile("../../docs/results/tokens.md")
	if err != nil || !strings.Contains(string(page), table) {
		t.Errorf("docs/results/tokens.md has another table (%v), want\n%s", err, table)
	}
}

// countTokens returns the numbers of tokens of texts by model.
func countTokens(t *testing.T, texts []string) map[string][]int {
	t.Helper()
	var counts map[string][]int
	runTokens(t, texts, &counts, "--count")

	return counts
}

// runTokens runs tokens.py on texts and reads its output.
func runTokens(t *testing.T, texts []string, out any, args ...string) {
	t.Helper()
	python := os.Getenv("COLLABUI_TOKENS_PYTHON")
	if python == "" {
		t.Skip("COLLABUI_TOKENS_PYTHON names no Python with tokenizers; scripts/venv.sh tokens makes one")
	}
	raw, err := json.Marshal(texts)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), python, append([]string{"tokens.py"}, args...)...)
	c.Stdin = bytes.NewReader(raw)
	c.Stderr = os.Stderr
	printed, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(printed, out); err != nil {
		t.Fatalf("tokens.py printed %q: %v", printed, err)
	}
}
