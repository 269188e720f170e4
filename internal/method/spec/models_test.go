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

func TestCertificatesAreNamedRelativeToTheSpecification(t *testing.T) {
	for given, want := range map[string]string{"ca.pem": "/specs/ca.pem", "/etc/ca.pem": "/etc/ca.pem"} {
		s := parse(t, strings.Replace(judge, "model: m,", "model: m, ca: "+given+",", 1))
		if got := s.Models["judge"].CA; got != want {
			t.Errorf("models.judge.ca = %q, want %q", got, want)
		}
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
		{old: "X-Org: acme", new: "api-key: abc", want: "headers.api-key: expected $NAME"},
		{old: "X-Org: acme", new: "X-Goog-Api-Key: abc", want: "headers.X-Goog-Api-Key: expected $NAME"},
		{old: "X-Org: acme", new: "Ocp-Apim-Subscription-Key: a", want: "Subscription-Key: expected $NAME"},
		{old: "X-Org: acme", new: "X-Token: abc", want: "headers.X-Token: expected $NAME"},
		{old: "X-Org: acme", new: "Cookie: session=a", want: "headers.Cookie: expected $NAME"},
		{old: "acme", new: "Basic YTpi", want: "headers.X-Org: expected $NAME"},
		{old: "acme", new: "Bearer $TOKEN", want: "headers.X-Org: expected $NAME"},
		{old: "X-Org", new: "Accept-Encoding", want: "headers.Accept-Encoding: expected the name of a header"},
		{old: "X-Org", new: "Proxy-Authorization", want: "Proxy-Authorization: expected the name of a header"},
		{old: "http://h:1/v1", new: "http://h:1/v1 ", want: "base_url: expected one URL, without blanks"},
		{old: "http://h:1/v1", new: "https://h/v1, https://g/v1", want: "base_url: expected one URL, without blanks"},
		{old: "http://h:1/v1", new: "http://h:1/v1\u200b", want: `not "http://h:1/v1\u200b"`},
		{old: "http://h:1/v1", new: "http://h:1/v1?api-version=", want: "base_url: expected a value of api-version"},
		{
			old: "model: m,", new: "model: m, proxy: 'proxy.corp:3128',",
			want: "x.yaml:3:55: models.judge.proxy: expected a URL with http, https, socks5 or socks5h and a host",
		},
		{old: "model: m,", new: "model: m, proxy: 'ftp://proxy:21',", want: "models.judge.proxy: expected a URL"},
		{old: "model: m,", new: "model: m, proxy: 'http://:3128',", want: "models.judge.proxy: expected a URL"},
		{old: "model: m,", new: "model: m, proxy: 'http://p:99999',", want: "models.judge.proxy: expected a URL"},
		{old: "http://h:1/v1", new: "http://h:99999/v1", want: "models.judge.base_url: expected a URL"},
		{old: "http://h:1/v1", new: "http://:8000/v1", want: "models.judge.base_url: expected a URL"},
		{old: "model: m,", new: "model: ' m',", want: "models.judge.model: expected the server's name"},
		{old: "model: m,", new: `model: "m\n",`, want: "models.judge.model: expected the server's name"},
		{old: "model: m,", new: "model: m, proxy: localhost,", want: "models.judge.proxy: expected a URL"},
		{old: "X-Org", new: "'X Org'", want: "models.judge.headers.X Org: expected the name of a header"},
		{old: "X-Org", new: "'X-Org:'", want: "models.judge.headers.X-Org:: expected the name of a header"},
		{old: "X-Org", new: "''", want: "models.judge.headers: expected a name as the key"},
		{old: "X-Org", new: "Host", want: "models.judge.headers.Host: expected the name of a header"},
		{old: "acme", new: `"a\nb"`, want: "models.judge.headers.X-Org: expected a value without line breaks"},
		{old: "$TOKEN", new: "$MY TOKEN", want: "models.judge.headers.Authorization: expected $NAME"},
		{old: "model: m,", new: "model: m, price: {prompt: -1},", want: "models.judge.price.prompt: expected a finite"},
		{old: "model: m,", new: "model: m, price: {cached: -1},", want: "models.judge.price.cached: expected a finite"},
		{
			old: "model: m,", new: "model: m, price: {answer: .nan},",
			want: "models.judge.price.answer: expected a finite",
		},
		{old: "critic:", new: "budget: {money: -1}\ncritic:", want: "budget.money: expected a finite number"},
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
		{old: "{model: judge}", new: "{rule: x}", want: "critic.rule: expected one of robust, paper"},
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

func TestProxiesOfEveryUsualKindAreTaken(t *testing.T) {
	for _, proxy := range []string{
		"http://proxy.corp:3128", "https://proxy.corp", "socks5://127.0.0.1:1080", "socks5h://[::1]:1080",
	} {
		t.Run(proxy, func(t *testing.T) {
			s := parse(t, strings.Replace(judge, "model: m,", "model: m, proxy: '"+proxy+"',", 1))
			if got := s.Models["judge"].Proxy; got != proxy {
				t.Errorf("models.judge.proxy = %q, want %q", got, proxy)
			}
		})
	}
}

// TestAnAddressWithASecretIsNotShown checks that errors about addresses do not show their secrets.
func TestAnAddressWithASecretIsNotShown(t *testing.T) {
	for _, base := range []string{
		"https://u:SECRET@h/v1", "https://SECRET@h/v1", "https://u:SEC/RET@h/v1", "https://u:SECRET@/v1", "u:SECRET@h",
		"https://u:SECRET@h:99999/v1", "https://:1/v1?api_key=SECRET", "ftp://u:SECRET@h", "https://u:SECRET%zz@h/v1", "https://h/v1?api_key=SECRET",
		"https://h/v1/chat/completions?token=SECRET", "https://u:SECRET@h/v1/chat/completions", "//u:SECRET@h",
	} {
		t.Run(base, func(t *testing.T) {
			text := strings.Replace(judge, "http://h:1/v1", base, 1)
			_, err := spec.Parse(spec.Source{Name: "x.yaml", Dir: "/specs"}, []byte(text), catalog.All{})
			if err == nil || strings.Contains(err.Error(), "SECRET") || strings.Contains(err.Error(), "SEC/RET") {
				t.Errorf("Parse = %v, want an error without the secret", err)
			}
		})
	}
}
