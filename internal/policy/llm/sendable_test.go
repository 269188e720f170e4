package llm

import (
	"net/http"
	"strings"
	"testing"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/chat"
)

func TestAKeyDoesNotFollowARedirect(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		elsewhere, got, _ := server(t, 200, nil, answer)
		base, _, _ := server(t, status, map[string]string{"Location": elsewhere + "/chat/completions"}, "")
		c := must(t, Config{
			BaseURL: base, Key: func() string { return "canary" }, Headers: map[string]string{"X-Key": "canary"},
		})
		_, err := c.Complete(t.Context(), chat.Request{User: "u", N: 1})
		if err == nil || fault.KindOf(err) != fault.Invalid {
			t.Errorf("Complete() after a %d = %v, want an invalid fault", status, err)
		}
		if got.Method != "" {
			t.Errorf("a %d was followed to %s, want no request there", status, got.URL)
		}
		if err := c.Load(t.Context(), "p"); err == nil || fault.KindOf(err) != fault.Invalid {
			t.Errorf("Load() after a %d = %v, want an invalid fault", status, err)
		}
	}
}

func TestARedirectNamesTheBaseURLThatResults(t *testing.T) {
	const secret = "zz9-plural-ALPHA-secret"
	for _, x := range []struct{ to, want string }{
		{"https://h.example/v1/chat/completions", "redirects: use https://h.example/v1 as base_url"},
		{"https://u:p@h.example:8443/api/v2/chat/completions/?key=" + secret, "use https://h.example:8443/api/v2 as"},
		{"/openai/v1/chat/completions", "/openai/v1 as base_url"},
		{"/chat/completions", " as base_url"},
		{"chat/completions/", "/v1/chat as base_url"},
		{"/v1/chat/completions/", "which is not an address of its API"}, // leads to the same base_url
		{"https://sso.example/login?next=" + secret, "redirects to https://sso.example/login, which is not an address"},
		{"https://sso.example/" + secret + "/chat/completions", "use https://sso.example/[removed] as base_url"},
		{"ftp://h.example/v1/chat/completions", "which is not an address of its API"},
		{"https://h.example/" + strings.Repeat("a", 9000) + "%0a/chat/completions", "use https://h.example/aaa"},
		{"https://%zz" + secret, "failed to parse Location header"},
	} {
		base, _, _ := server(t, http.StatusTemporaryRedirect, map[string]string{"Location": x.to}, "")
		c := must(t, Config{BaseURL: base, Model: "m", Key: func() string { return secret }})
		_, err := c.Complete(t.Context(), chat.Request{User: "u", N: 1})
		if err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("to %.80s: %v, want %q", x.to, err, x.want)
		} else if text := err.Error(); strings.Contains(text, secret) || strings.Contains(text, "u:p@") ||
			len(text) > 2*maxReason || strings.Contains(text, "?") {
			t.Errorf("to %.80s: %.900s, want no secret, no query, and at most %d bytes", x.to, text, 2*maxReason)
		}
	}
}

func TestASecretThatNoRequestCanCarryIsNamed(t *testing.T) {
	for value, want := range map[string]string{
		"zz9-one\nzz9-two":   "a line break",
		"zz9-one\r\nzz9-two": "a line break",
		"z\x00z\x009\x00":    "a NUL byte",
		"\xff\xfez\x00z\x00": "a NUL byte",
		"\ufeffzz9-one":      "a byte order mark",
		"zz9\x1bone":         "the control character 0x1b",
		"zz9-one\ttwo~é":     "",
	} {
		for place, conf := range map[string]Config{
			"key":                 {Key: func() string { return value }},
			"the header X-Other ": {Headers: map[string]string{"X-Other": value}},
		} {
			conf.BaseURL = "http://h.example/v1"
			_, err := New(conf)
			if want == "" {
				if err != nil {
					t.Errorf("New with %s %q = %v, want a client", place, value, err)
				}

				continue
			}
			if err == nil || fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), want) ||
				!strings.Contains(err.Error(), place) || !strings.Contains(err.Error(), "_FILE") ||
				strings.Contains(err.Error(), "zz9") {
				t.Errorf("New with %s %q = %v, want an invalid fault that names %s and shows no value",
					place, value, err, want)
			}
		}
	}
}

// TestAKeyMayBecomeUnsendable checks that the key is read again for every request.
func TestAKeyMayBecomeUnsendable(t *testing.T) {
	base, _, _ := server(t, http.StatusOK, nil, answer)
	key := "zz9"
	c := must(t, Config{BaseURL: base, Model: "m", Key: func() string { return key }})
	key = "zz9\nplural"
	_, err := c.Complete(t.Context(), chat.Request{User: "u", N: 1})
	if err == nil || fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "COLLABUI_POLICY_KEY") {
		t.Errorf("Complete = %v, want an invalid fault that names the variable", err)
	}
	if err := c.Load(t.Context(), "p"); err == nil || fault.KindOf(err) != fault.Invalid {
		t.Errorf("Load = %v, want an invalid fault", err)
	}
}
