package llm

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"sync"

	"github.com/collabui/collabui/internal/method/chat"
)

// The keys under which the longest answer is sent.
const (
	TokensMax        = "max_tokens"
	TokensCompletion = "max_completion_tokens"
)

// omitted holds the server's words by the parameters that it refuses.
type omitted map[string]string

// lessons are the parameters that servers refuse, by model. Safe for concurrent use.
type lessons struct {
	mu     sync.Mutex
	models map[string]omitted
}

// of returns a copy of the parameters that are refused for a model.
func (l *lessons) of(model string) omitted {
	l.mu.Lock()
	defer l.mu.Unlock()

	left := omitted{}
	maps.Copy(left, l.models[model])

	return left
}

// add notes what is left out of a request that succeeded.
func (l *lessons) add(model string, left omitted) {
	l.mu.Lock()
	defer l.mu.Unlock()

	if l.models == nil {
		l.models = map[string]omitted{}
	}
	if l.models[model] == nil {
		l.models[model] = omitted{}
	}
	maps.Copy(l.models[model], left)
}

// parameters are what may be left out of a request, with what names them in a refusal.
var parameters = []struct {
	name  string
	words *regexp.Regexp
}{
	{TokensMax, regexp.MustCompile(`(?i)\bmax_?tokens\b`)},
	{TokensCompletion, regexp.MustCompile(`(?i)\bmax_?completion_?tokens\b`)},
	{"temperature", regexp.MustCompile(`(?i)\btemperature\b`)},
	{"top_p", regexp.MustCompile(`(?i)\btop[_ -]?p\b`)},
	{"logprobs", regexp.MustCompile(`(?i)\blog[_ -]?prob`)},
	{"seed", regexp.MustCompile(`(?i)\bseed\b`)},
	{"n", regexp.MustCompile("(?i)['\"`.(]n['\"`)]|^n$|\\bn (>|=|must|should|is)" +
		`|\b(one|single) (completion )?choice|\bmultiple (choices|completions)`)},
	{SchemaJSON, form},
	{SchemaObject, form},
}

// form matches words about the form of JSON answers.
var form = regexp.MustCompile(
	`(?i)\bresponse[_ -]?(format|schema)|\bjson[_ -]?(schema|object|mode)|\bstructured[_ ]output`)

// unknown matches words about a parameter itself, not about its value.
var unknown = regexp.MustCompile(`(?i)unsupported|not supported?\b|unknown|unrecogni|unexpected|\bextra\b` +
	`|not (permitted|allowed|available|accepted)|deprecated|instead|cannot find`)

// adapt sends a request and, if the server refuses some of its parameters by name, sends it again without them. What is
// left out of a request that succeeds is left out of all that follow: left has the parameters that the server is known
// to refuse, and gets those that it refuses now. The temperature and the log-probabilities of a policy are part of the
// method, so requests to policies stay as they are.
func (c *Client) adapt(ctx context.Context, request chat.Request, left omitted) (completion, error) {
	for {
		q := c.request(request, left)
		out, err := c.ask(ctx, q)
		if err == nil && len(left) > 0 {
			c.lessons.add(q.Model, left)
		}

		more := c.refused(err, q, left)
		if len(more) == 0 {
			return out, err
		}
		maps.Copy(left, more)
	}
}

// refused returns which parameters of a request an error refuses, with the server's words. They are those that the
// error is about or, if it does not tell, those that its words name. No answer may be without a bound, and another key
// does not change that the bound's value is refused.
func (c *Client) refused(err error, q question, left omitted) omitted {
	var no *refusal
	if c.conf.Model == "" || !errors.As(err, &no) || !rejects[no.status] {
		return nil
	}

	for _, texts := range [][]string{no.about, {no.words}} {
		found := omitted{}
		for _, parameter := range parameters {
			if sends(q, parameter.name) && slices.ContainsFunc(texts, parameter.words.MatchString) {
				found[parameter.name] = no.Error()
			}
		}

		bounded := found[TokensMax] != "" || found[TokensCompletion] != ""
		if bounded && (left[TokensMax]+left[TokensCompletion] != "" || !unknown.MatchString(no.words)) {
			return nil
		}
		if len(found) > 0 {
			return found
		}
	}

	return nil
}

// rejects are the statuses with which servers refuse parameters.
var rejects = map[int]bool{
	http.StatusBadRequest: true, http.StatusForbidden: true, http.StatusUnprocessableEntity: true,
	http.StatusNotImplemented: true,
}

// sends reports whether a request has a parameter.
func sends(q question, parameter string) bool {
	switch parameter {
	case TokensMax:
		return q.MaxTokens > 0
	case TokensCompletion:
		return q.MaxCompletionTokens > 0
	case "temperature":
		return q.Temperature != nil
	case "top_p":
		return q.TopP != 0
	case "logprobs":
		return q.LogProbs
	case "seed":
		return q.Seed != nil
	case "n":
		return q.N != 0
	}

	return q.ResponseFormat != nil && string(q.ResponseFormat.Type) == parameter
}
