package spec_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/collabui/collabui/internal/method/spec"
)

const template = `{{/* version mine-2 */}}{{define "system"}}s{{end}}{{define "user"}}u{{end}}`

// loadInFolder loads a specification from a folder with the given files.
func loadInFolder(t *testing.T, files map[string]string) (spec.Spec, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	return loadFile(t, filepath.Join(dir, "s.yaml"))
}

func TestCustomPromptsAreStoredAsText(t *testing.T) {
	for name, value := range map[string]string{"a file": "critic.tmpl", "the template itself": "'" + template + "'"} {
		t.Run(name, func(t *testing.T) {
			s, err := loadInFolder(t, map[string]string{
				"critic.tmpl": template,
				"s.yaml":      "name: a\nprompts: {critic: " + value + "}\n",
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := s.Prompts["critic"]; got != template {
				t.Errorf("prompt of the critic = %q, want %q", got, template)
			}
		})
	}
}

func TestWrongPromptsAreRefused(t *testing.T) {
	for prompts, want := range map[string]string{
		"{critic: nowhere.tmpl}": "s.yaml:2:19: prompts.critic: expected a file with a prompt template",
		"{critic: bad.tmpl}":     "prompts.critic: expected a prompt template: the first line must be",
		"{critic: endless.tmpl}": "prompts.critic: expected a prompt template: line 2: expected a list after range",
		"{nobody: critic.tmpl}":  "prompts.nobody: expected one of the roles agent, critic, adversary",
	} {
		t.Run(prompts, func(t *testing.T) {
			_, err := loadInFolder(t, map[string]string{
				"critic.tmpl": template,
				"bad.tmpl":    "hello",
				"endless.tmpl": "{{/* version 1 */}}\n{{define \"system\"}}{{range 1000000000000}}{{end}}{{end}}" +
					"{{define \"user\"}}{{end}}",
				"s.yaml": "name: a\nprompts: " + prompts + "\n",
			})
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("Load = %v, want %s", err, want)
			}
		})
	}
}
