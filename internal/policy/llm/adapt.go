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

// Parameters that bound the length of an answer.
const (
	TokensMax        = "max_tokens"
	TokensCompletion = "max_completion_tokens"
)

// omitted holds the parameters that a server refuses, with its error messages.
type omitted map[string]string

// lessons records the parameters that servers refuse, by model. It is safe for concurrent use.
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

// add records the parameters that were left out of a successful request.
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

// parameters lists what may be left out of a request, with patterns that match it in a refusal.
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
	{SchemaJSON, formatWords},
	{SchemaObject, formatWords},
}

// formatWords matches text about the format of JSON answers.
var formatWords = regexp.MustCompile(
	`(?i)\bresponse[_ -]?(format|schema)|\bjson[_ -]?(schema|object|mode)|\bstructured[_ ]output`)

// unsupportedWords matches text about a parameter itself, not about its value.
var unsupportedWords = regexp.MustCompile(`(?i)unsupported|not supported?\b|unknown|unrecogni|unexpected|\bextra\b` +
	`|not (permitted|allowed|available|accepted)|deprecated|instead|cannot find`)

// adapt sends a request and, if the server refuses some of its parameters by name, repeats it without them. Parameters
// that were left out of a successful request are left out of all later ones: left holds the parameters that the server
// is known to refuse, and receives those that it refuses now. Requests to policies are never changed, because the
// temperature and the log-probabilities are part of the method.
func (c *Client) adapt(ctx context.Context, request chat.Request, left omitted) (completion, error) {
	for {
		q := c.request(request, left)
		out, err := c.postChat(ctx, q)
		if err == nil && len(left) > 0 {
			c.lessons.add(q.Model, left)
		}

		refused := c.refused(err, q, left)
		if len(refused) == 0 {
			return out, err
		}
		maps.Copy(left, refused)
	}
}

// refused returns the parameters of a request that an error refuses, with the server's message. They are the parameters
// that the error refers to or, if it refers to none, those that its message names. It returns nil if the request would
// have no bound on its answers, or if the server refuses the value of the bound, which another name would not change.
func (c *Client) refused(err error, q question, left omitted) omitted {
	var no *refusal
	if c.conf.Model == "" || !errors.As(err, &no) || !rejectStatuses[no.status] {
		return nil
	}

	for _, texts := range [][]string{no.members, {no.words}} {
		found := omitted{}
		for _, parameter := range parameters {
			if sends(q, parameter.name) && slices.ContainsFunc(texts, parameter.words.MatchString) {
				found[parameter.name] = no.Error()
			}
		}

		bounded := found[TokensMax] != "" || found[TokensCompletion] != ""
		if bounded && (left[TokensMax]+left[TokensCompletion] != "" || !unsupportedWords.MatchString(no.words)) {
			return nil
		}
		if len(found) > 0 {
			return found
		}
	}

	return nil
}

// rejectStatuses holds the statuses with which servers refuse parameters.
var rejectStatuses = map[int]bool{
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
