package prompts

import (
	"strings"
	"testing"
)

const (
	head   = "{{/* version 1 */}}\n"
	system = `{{define "system"}}x{{end}}`
	user   = `{{define "user"}}{{.X}}{{end}}`
)

func parse(t *testing.T, text string) *Prompt {
	t.Helper()
	p, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}

	return p
}

func TestEveryRoleHasATemplateWithAVersion(t *testing.T) {
	for _, role := range Roles {
		t.Run(role, func(t *testing.T) {
			text, err := Default(role)
			if err != nil {
				t.Fatal(err)
			}
			p := parse(t, text)
			want := map[string]string{Agent: "3", Critic: "3", Adversary: "3", Instructions: "2", Summariser: "2"}[role]
			if want == "" {
				want = "1"
			}
			if p.Version != want || len(p.Digest) != 64 {
				t.Errorf("version %q and digest %q, want %s and a SHA-256", p.Version, p.Digest, want)
			}
		})
	}
	if text, err := Default("nobody"); err == nil {
		t.Errorf("Default() of a role without a template = %q, want an error", text)
	}
}

func TestTheDigestIsThatOfTheText(t *testing.T) {
	p, q := parse(t, head+system+user), parse(t, head+system+user+" ")
	if p.Digest == q.Digest {
		t.Errorf("another text has the digest %s, want another", q.Digest)
	}
}

func TestTemplatesThatCannotServeAreRefused(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"no version":         {system + user, "first line"},
		"not a template":     {"hello", "first line"},
		"an invalid version": {"{{/* version a b */}}\n" + system + user, "first line"},
		"a part is missing":  {head + system, `"user"`},
		"a broken action":    {head + `{{define "system"}}{{.X}{{end}}`, "bad character"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Parse(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Parse(%q) = %v, want an error with %s", c.text, err, c.want)
			}
		})
	}
}

func TestAPromptWithoutItsDataIsNotRendered(t *testing.T) {
	if text, err := parse(t, head+system+user).Render("user", map[string]string{}); err == nil {
		t.Errorf("Render() = %q, want an error", text)
	}
}
