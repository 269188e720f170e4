package llm

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/collabui/collabui/internal/method/chat"
)

// forms returns the forms in which servers repeat a secret.
func forms(secret string) map[string]string {
	percent, entities, escapes := "", "", ""
	for _, c := range []byte(secret) {
		percent += fmt.Sprintf("%%%02x", c)
		entities += fmt.Sprintf("&#%d;", c)
		escapes += fmt.Sprintf(`\\u%04X`, c)
	}
	all := []byte(secret)

	return map[string]string{
		"exact":                  secret,
		"another case":           strings.ToUpper(secret),
		"for a query":            url.QueryEscape(secret),
		"for a path, lower case": strings.ToLower(url.PathEscape(secret)),
		"every character":        percent,
		"encoded twice":          url.QueryEscape(percent),
		"entities":               entities,
		"escapes":                escapes,
		"base64":                 base64.StdEncoding.EncodeToString(all),
		"base64 of addresses":    base64.RawURLEncoding.EncodeToString(all),
		"basic":                  base64.StdEncoding.EncodeToString(append([]byte("user:"), all...)),
		"base64 of the header":   base64.URLEncoding.EncodeToString(append([]byte("Bearer "), all...)),
	}
}

func TestAServersWordsHoldNoFormOfASecret(t *testing.T) {
	const key, header = "zz9+plural/ALPHA-sec?ret~é=42", "Zeta-9/Eta+Th3ta&I0ta"
	conf := Config{
		Model: "m", Key: func() string { return key }, Headers: map[string]string{"X-Other": header},
	}
	for _, secret := range []string{key, header} {
		told := forms(secret)
		for _, size := range []int{8, 11, 20} {
			told[fmt.Sprintf("the first %d", size)] = secret[:size]
			told[fmt.Sprintf("%d within, another case", size)] = strings.ToUpper(secret[1 : size+1])
			told[fmt.Sprintf("the last %d", size)] = secret[len(secret)-size:]
		}
		for name, form := range told {
			for _, status := range []int{http.StatusOK, http.StatusUnauthorized} {
				conf.BaseURL, _, _ = server(t, status, nil, `{"error":"what begins with `+form+` is wrong"}`)
				_, err := must(t, conf).Complete(t.Context(), chat.Request{User: "u", N: 1})
				want := "what begins with " + removed
				if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), " is wrong") {
					t.Errorf("%d, %s, %s: %v, want %q", status, name, form, err, want)
				}
			}
		}
	}
}

func TestUsualWordsStayInAServersWords(t *testing.T) {
	for _, x := range []struct{ key, header, text, want string }{
		{"k", "", "the key k is unknown", "the key k is unknown"},
		{"empty", "", "EMPTY is no key, nor is empty", "EMPTY is no key, nor is " + removed},
		{"lm-studio", "", "LM-Studio is no key", removed + " is no key"},
		{"lm-studio", "", "studio: model not loaded", "studio: model not loaded"},
		{"", "https://ui.example.com/team", "see https://docs.example.com", "see https://docs.example.com"},
		{"", "https://ui.example.com/team", "not https://ui.example.com/", "not " + removed},
		{"", "application/json", "an application wants application/JSON", "an application wants " + removed},
		{"", "research-2026-07", "a researcher asked search-2026", "a researcher asked " + removed},
		{"sk", "", "100% of &#9999; and \\u00", "100% of &#9999; and \\u00"},
	} {
		c := must(t, Config{
			BaseURL: "http://h", Key: func() string { return x.key }, Headers: map[string]string{"X-Team": x.header},
		})
		if got := c.words(x.text); got != x.want {
			t.Errorf("key %q, header %q: %q, want %q", x.key, x.header, got, x.want)
		}
	}
}

// FuzzHide checks that a text without a secret is unchanged, and that a secret never stays in a text.
func FuzzHide(f *testing.F) {
	f.Add("the key ", " is wrong", "zz9-plural-ALPHA")
	f.Add("%25%", "&#1", "%41%42%43")
	f.Add("0", "0", "\x00\x00\x00")
	f.Fuzz(func(t *testing.T, before, after, secret string) {
		if got := without(before, "\x00\x01\x02\x03", false); !strings.ContainsAny(before, "\x00%&\\") &&
			got != strings.ToValidUTF8(before, "") {
			t.Errorf("%q became %q, want no change", before, got)
		}
		if len(secret) < shortestKey || strings.Contains(removed, secret) {
			return
		}
		got := without(before+secret+after, secret, false)
		if strings.Contains(strings.ReplaceAll(got, removed, "\n"), secret) {
			t.Errorf("%q is still in %q, want it removed", secret, got)
		}
	})
}

// TestAnAnswerHasNoKey has a server put the key into the answer.
func TestAnAnswerHasNoKey(t *testing.T) {
	const key = "sk-canary-4711-of-the-model"
	base, _, _ := server(t, 200, nil,
		`{"choices":[{"message":{"content":"Bearer `+key+`, canary","reasoning":"`+key+`"}}]}`)
	c := must(t, Config{BaseURL: base, Key: func() string { return key }})
	got, err := c.Complete(t.Context(), chat.Request{User: "u"})
	if err != nil {
		t.Fatal(err)
	}
	if want := "Bearer [removed], canary"; got.Texts[0] != want || strings.Contains(got.Reasoning[0], key) {
		t.Errorf("the answer is %q with the thought %q, want %q without the key", got.Texts[0], got.Reasoning[0], want)
	}
}
