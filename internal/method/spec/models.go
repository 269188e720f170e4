package spec

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
)

// Model is a chat endpoint. A specification never contains its key: Key names the environment variable that holds the
// key or, with _FILE appended, the variable that names a file with it. A header's value that begins with $ is also read
// from the environment.
type Model struct {
	BaseURL string            `json:"base_url"`          // up to and including /v1; its query is always sent
	Model   string            `json:"model"`             // the server's name for the model
	Key     string            `json:"key"`               // name of an environment variable; if empty, no key is sent
	Headers map[string]string `json:"headers,omitempty"` // sent with every request
	CA      string            `json:"ca,omitempty"`      // file with additional root certificates, on the worker's host
	Proxy   string            `json:"proxy,omitempty"`   // URL; if empty, the proxy of the environment is used

	Timeout     float64 `json:"timeout"`              // seconds per call
	MaxTokens   int     `json:"max_tokens"`           // maximum per answer, including thinking
	TokensKey   string  `json:"tokens_key,omitempty"` // the parameter that carries MaxTokens; empty means max_tokens
	Temperature float64 `json:"temperature"`          // for roles that do not set one

	// RequestsPerMinute and TokensPerMinute limit all workers together. Tokens of prompts and of answers count. 0 means
	// no limit.
	RequestsPerMinute int `json:"requests_per_minute,omitempty"`
	TokensPerMinute   int `json:"tokens_per_minute,omitempty"`

	Schema   Schema `json:"schema"`
	Images   bool   `json:"images"`   // the model accepts screenshots
	Logprobs bool   `json:"logprobs"` // the server returns log-probabilities
	Seeds    bool   `json:"seeds"`    // the server accepts seeds
	Price    Price  `json:"price"`
}

// Schema specifies how an endpoint is made to answer in JSON.
type Schema string

// Values of Schema, from the strictest.
const (
	SchemaJSON   Schema = "json_schema"
	SchemaObject Schema = "json_object"
	SchemaNone   Schema = "none" // only the prompt requests JSON
)

// Price holds prices per million tokens, in the same currency for all endpoints of a run.
type Price struct {
	Prompt float64 `json:"prompt"`
	Cached float64 `json:"cached"` // prompt tokens from the server's cache; 0 means the price of Prompt
	Answer float64 `json:"answer"` // including thinking
}

// Budget limits a run's recorded calls to chat endpoints. A run that reaches it pauses. 0 means no limit.
type Budget struct {
	Money  float64 `json:"money"` // in the currency of the prices
	Tokens int     `json:"tokens"`
}

// Of returns the cost of a call, in the currency of the prices.
func (p Price) Of(u domain.Usage) float64 {
	cached := p.Cached
	if cached == 0 {
		cached = p.Prompt
	}

	return (float64(u.Prompt-u.Cached)*p.Prompt + float64(u.Cached)*cached + float64(u.Answer)*p.Answer) / 1e6
}

// DefaultModel returns the defaults of an entry under models.
func DefaultModel() Model {
	return Model{Timeout: 120, MaxTokens: 4000, Schema: SchemaJSON, Seeds: true}
}

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// checkModels checks the chat endpoints and their budget.
func (s Spec) checkModels(must Must) {
	for _, name := range slices.Sorted(maps.Keys(s.Models)) {
		field := "models." + string(name)
		ok := runName.MatchString(string(name)) && !slices.Contains(reserved, name)
		must(ok, field, "a name of 1 to 40 lower-case letters, digits and dashes, other than %v", reserved)
		s.Models[name].check(field, must)
	}
	must.amount(s.Budget.Money, "budget.money")
	must(s.Budget.Tokens >= 0, "budget.tokens", "a whole number from 0")
}

// isOwnVariable reports whether an environment variable belongs to collabui itself.
func isOwnVariable(name string) bool { return strings.HasPrefix(name, "COLLABUI_") }

func (m Model) check(field string, must Must) {
	checkBaseURL(m.BaseURL, field+".base_url", must)
	must(m.Model != "" && m.Model == strings.TrimSpace(m.Model) && !strings.ContainsFunc(m.Model, isControl),
		field+".model", "the server's name of the model, without blanks around it, not %q", m.Model)
	must(m.Key == "" || envName.MatchString(m.Key), field+".key",
		"the name of an environment variable that holds the key, never the key itself")
	must(!isOwnVariable(m.Key), field+".key", "a variable other than COLLABUI_*: those hold secrets of collabui itself")
	must(m.Proxy == "" || isProxy(m.Proxy), field+".proxy",
		"a URL with http, https, socks5 or socks5h and a host, such as http://proxy.corp:3128")
	for _, h := range slices.Sorted(maps.Keys(m.Headers)) {
		value := m.Headers[h]
		must(headerName.MatchString(h) && !transport[strings.ToLower(h)], field+".headers."+h,
			"the name of a header that does not control the connection, such as X-Org, not %q", h)
		must(!strings.ContainsFunc(value, isControl), field+".headers."+h,
			"a value without line breaks and control characters")
		must(!strings.HasPrefix(value, "$") || envName.MatchString(value[1:]), field+".headers."+h,
			"$NAME of an environment variable, not %q", value)
		must(!isOwnVariable(strings.TrimPrefix(value, "$")), field+".headers."+h,
			"a variable other than COLLABUI_*: those hold secrets of collabui itself")
		must(!holdsSecret(h, value) || strings.HasPrefix(value, "$"), field+".headers."+h,
			"$NAME of an environment variable: a specification never holds secrets")
	}

	must(m.Timeout >= 0.1 && m.Timeout <= 3600, field+".timeout", "0.1 to 3600 seconds, not %v", m.Timeout)
	must(m.RequestsPerMinute >= 0, field+".requests_per_minute", "a whole number from 0")
	must(m.TokensPerMinute >= 0, field+".tokens_per_minute", "a whole number from 0")
	must(m.MaxTokens >= 1, field+".max_tokens", "a whole number from 1")
	known := m.TokensKey == "" || m.TokensKey == "max_tokens" || m.TokensKey == "max_completion_tokens"
	must(known, field+".tokens_key", "max_tokens or max_completion_tokens, not %q", m.TokensKey)
	must.within(m.Temperature, field+".temperature", 0, 10)
	oneOf(must, m.Schema, field+".schema", SchemaJSON, SchemaObject, SchemaNone)

	must.amount(m.Price.Prompt, field+".price.prompt")
	must.amount(m.Price.Cached, field+".price.cached")
	must.amount(m.Price.Answer, field+".price.answer")
}

// headerName matches names of headers (RFC 9110, section 5.6.2).
var headerName = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

// transport holds the headers that an HTTP client sets itself, in lower case. A request would ignore them.
var transport = map[string]bool{
	"host": true, "content-length": true, "transfer-encoding": true, "connection": true, "trailer": true, "te": true,
	"upgrade": true, "accept-encoding": true, "content-encoding": true, "content-type": true, "expect": true,
	"keep-alive": true, "proxy-authorization": true, "proxy-connection": true,
}

// secretHeader matches names of headers that hold secrets. scheme matches values that contain a secret under any name.
var (
	secretHeader = regexp.MustCompile(`(?i)key|token|secret|passw|credential|cookie|signature|auth(orization)?$`)
	scheme       = regexp.MustCompile(`(?i)^\s*(basic|bearer|token|digest)\s`)
)

// holdsSecret reports whether a header would contain a secret.
func holdsSecret(name, value string) bool {
	return secretHeader.MatchString(name) || scheme.MatchString(value)
}

func isControl(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }

// isProxy reports whether a text is the URL of a proxy that an HTTP client can use.
func isProxy(text string) bool {
	address, err := url.Parse(text)

	return err == nil && envadapters.IsServer(address, "http", "https", "socks5", "socks5h")
}

// callPath matches the paths of single calls, which people copy together with a base URL. secretName matches names of
// query parameters that hold secrets.
var (
	callPath   = regexp.MustCompile(`/(chat/completions|chat|completions|responses|messages|embeddings|models)/*$`)
	secretName = regexp.MustCompile(`(?i)key$|token|secret|passw|\b(sig|code|auth)$`)
)

// checkBaseURL checks the URL to which the paths of calls are appended.
func checkBaseURL(base, field string, must Must) {
	address, err := url.Parse(base)
	if err != nil || address.User != nil || !envadapters.IsServer(address, "http", "https") {
		quoted := ""
		if !strings.ContainsAny(base, "@?") { // what follows them may be a secret
			quoted = fmt.Sprintf(", not %q", base)
		}
		must(false, field, "a URL with http or https, a host and no password, for example http://127.0.0.1:8000/v1%s",
			quoted)

		return
	}

	must(address.Fragment == "", field, "a URL without #%s", address.Fragment)
	for _, name := range slices.Sorted(maps.Keys(address.Query())) {
		must(address.Query().Get(name) != "", field, "a value of %s in the query", name)
		if secretName.MatchString(name) {
			must(false, field, "no %s in the query: a specification never holds secrets; name the variable that holds "+
				"the key under key or headers", name)

			return // further messages would show the secret
		}
	}
	isHidden := func(c rune) bool { return unicode.IsSpace(c) || !unicode.IsPrint(c) }
	must(!strings.ContainsFunc(base, isHidden), field, "one URL, without blanks and invisible characters, not %+q",
		base)
	if cut := callPath.FindStringIndex(address.Path); cut != nil {
		address.Path = address.Path[:cut[0]]
		address.RawPath = ""
		must(false, field, "the URL before the path of a call: %s, not %q", address, base)
	}
}
