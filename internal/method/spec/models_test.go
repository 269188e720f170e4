package spec_test

import (
	"strings"
	"testing"

	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/workers/catalog"
)

const judge = `name: a
models:
  judge: {base_url: 'http://h:1/v1', model: m, key: API_KEY, headers: {X-Org: acme, Authorization: $TOKEN}}
critic: {model: judge}
`

func TestModelsBeginWithTheirDefaults(t *testing.T) {
	s := parse(t, judge)
	m := s.Models["judge"]
	if m.Timeout != 120 {
		t.Errorf("timeout = %v, want 120", m.Timeout)
	}
	if got := m.Headers["X-Org"]; got != "acme" {
		t.Errorf("header X-Org = %q, want acme", got)
	}
	if s.Critic.Rule != spec.RuleRobust {
		t.Errorf("critic.rule = %q, want %q", s.Critic.Rule, spec.RuleRobust)
	}
}

func TestABaseURLMayHaveAQueryAndAnyPath(t *testing.T) {
	for _, base := range []string{
		"https://x.openai.azure.com/openai/deployments/d?api-version=2024-10-21", "http://h/chat/v1", "http://h",
		"https://generativelanguage.googleapis.com/v1beta/openai/", "http://h/v1?design=1",
	} {
		s := parse(t, strings.Replace(judge, "http://h:1/v1", base, 1))
		if got := s.Models["judge"].BaseURL; got != base {
			t.Errorf("base_url = %q, want %q", got, base)
		}
	}
}

func TestModelsAreCheckedAndHoldNoSecrets(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{
			old: "key: API_KEY", new: "key: sk-123",
			want: "x.yaml:3:53: models.judge.key: expected the name of an environment variable",
		},
		{
			old: "key: API_KEY", new: "key: COLLABUI_S3_SECRET_KEY",
			want: "models.judge.key: expected a variable other than COLLABUI_*",
		},
		{
			old: "$TOKEN", new: "$COLLABUI_POLICY_KEY",
			want: "models.judge.headers.Authorization: expected a variable other than COLLABUI_*",
		},
		{old: "$TOKEN", new: "Bearer-x", want: "headers.Authorization: expected $NAME"},
		{old: "http://h:1/v1", new: "ftp://h", want: "models.judge.base_url: expected a URL"},
		{old: "http://h:1/v1", new: "http://u:p@h/v1", want: "no password"},
		{
			old: "http://h:1/v1", new: "http://h:1/v1/chat/completions",
			want: `x.yaml:3:21: models.judge.base_url: expected the URL before the path of a call: http://h:1/v1, not`,
		},
		{old: "http://h:1/v1", new: "http://h:1/api/v1/completions/", want: "of a call: http://h:1/api/v1, not"},
		{
			old: "http://h:1/v1", new: "https://x.openai.azure.com/openai/deployments/d/chat/completions?api-version=2",
			want: "of a call: https://x.openai.azure.com/openai/deployments/d?api-version=2, not",
		},
		{old: "http://h:1/v1", new: "http://h:1/v1?api_key=k", want: "base_url: expected no api_key in the query"},
		{old: "http://h:1/v1", new: "http://h:1/v1?sig=k", want: "base_url: expected no sig in the query"},
		{old: "http://h:1/v1", new: "http://h:1/v1#x", want: "base_url: expected a URL without #x"},
		{
			old: "model: m,", new: "model: m, tokens_key: max,",
			want: `models.judge.tokens_key: expected max_tokens or max_completion_tokens, not "max"`,
		},
		{
			old: "model: judge", new: "model: juge",
			want: `x.yaml:4:17: critic.model: expected oracle or a name under models, not "juge"`,
		},
		{old: "  judge:", new: "  oracle:", want: "models.oracle: expected a name"},
		{
			old: "model: m,", new: "modell: m,",
			want: `models.judge.modell: unknown key; did you mean "model"?`,
		},
		{old: "model: m,", new: "model: m, timeout: 0,", want: "models.judge.timeout: expected 0.1 to 3600 seconds"},
		{old: "model: m,", new: "model: m, schema: xml,", want: "models.judge.schema: expected one of"},
		{old: "{model: judge}", new: "{rule: x}", want: "critic.rule: expected one of [robust paper]"},
		{
			old: "{model: judge}", new: "{model: judge, error: 0.1}",
			want: "critic.error: expected 0 where the critic is not the oracle",
		},
		{old: "{model: judge}", new: "{error: 0.6}", want: "critic.error: expected a number from 0 to 0.5"},
		{
			old: "models:\n  judge:", new: "models:\n  judge: {base_url: 'http://h/v1', model: m}\n  judge:",
			want: "given twice; first on line 3",
		},
	} {
		t.Run(c.new, func(t *testing.T) {
			source := spec.Source{Name: "x.yaml", Dir: "/specs"}
			text := strings.Replace(judge, c.old, c.new, 1)
			_, err := spec.Parse(source, []byte(text), catalog.All{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Parse = %v, want %s", err, c.want)
			}
		})
	}
}
