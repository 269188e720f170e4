package activities

import (
	"context"
	"time"

	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/rules"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/prompts"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/policy/limits"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
)

// endpoint gives the chat of a specification's model for a role, and the role's prompt. Every call is recorded once, under the digest of what was asked: a repeated activity reads it
// instead of asking again. What may be repeated after a kill are the calls in flight.
func (d *Deps) endpoint(s spec.Spec, name spec.Role, role string) (chat.Model, *prompts.Prompt, error) {
	m, ok := s.Models[name]
	if !ok {
		return nil, nil, fault.New(fault.Invalid, "run %q has no model %q", s.Name, name)
	}
	if d.Endpoint == nil {
		return nil, nil, fault.New(fault.Invalid, "this worker reaches no chat endpoints")
	}
	p, err := rules.Prompt(s, role)
	if err != nil {
		return nil, nil, err
	}
	c, err := d.Endpoint(m)
	return &recorded{d: d, spec: s, name: string(name), role: role, prompt: p, model: m, endpoint: c}, p, err
}

// recorded asks an endpoint and keeps what it answers.
type recorded struct {
	d          *Deps
	spec       spec.Spec
	name, role string
	prompt     *prompts.Prompt
	model      spec.Model
	endpoint   chat.Model
}

// asked is what makes two calls the same.
type asked struct {
	Endpoint, BaseURL, Role string
	Request                 chat.Request
}

func (c *recorded) Complete(ctx context.Context, r chat.Request) (chat.Response, error) {
	r.Model = c.model.Model
	if r.MaxTokens == 0 {
		r.MaxTokens = c.model.MaxTokens
	}
	id := runs.Digest(asked{c.name, c.model.BaseURL, c.role, r})
	key := runs.Run(c.spec.Name).Call(id).Key
	a, _, err := store.RecordOnce(ctx, c.d.Bucket, key, func() (runs.Answer, error) {
		if err := c.d.ledger.check(ctx, c.d.Bucket, c.spec); err != nil {
			return runs.Answer{}, err
		}
		res, err := c.ask(ctx, r)
		return runs.Answer{Endpoint: c.name, Model: r.Model, Role: c.role, Prompt: c.prompt.Digest, Version: c.prompt.Version, Texts: res.Texts, Reasoning: res.Reasoning, LogProbs: res.LogProbs, Usage: res.Usage, Cost: c.model.Price.Of(res.Usage)}, err
	})
	if err == nil {
		c.d.ledger.add(c.spec.Name, key, a)
	}
	return chat.Response{Texts: a.Texts, Reasoning: a.Reasoning, LogProbs: a.LogProbs, Usage: a.Usage}, err
}

// Tries of one call inside an activity: what passes at once need not cost a round through the workflow engine, which waits longer and longer. A throttled call
// goes back to the engine with the server's Retry-After.
const (
	callTries = 3
	callPause = 200 * time.Millisecond
)

// What a call is taken to need before it is made; what it needed is settled afterwards.
const (
	charsPerToken = 4
	usualAnswer   = 500
)

func (c *recorded) ask(ctx context.Context, r chat.Request) (chat.Response, error) {
	limit := limits.Limit{Name: c.model.BaseURL + " " + c.model.Model, Requests: c.model.RequestsPerMinute, Tokens: c.model.TokensPerMinute}
	guess := (len(r.System)+len(r.User))/charsPerToken + min(r.MaxTokens, usualAnswer)
	for try := 1; ; try++ {
		if c.d.Limits != nil {
			if err := c.d.Limits.Wait(ctx, limit, guess); err != nil {
				return chat.Response{}, err
			}
		}
		res, err := c.endpoint.Complete(ctx, r)
		if c.d.Limits != nil && err == nil {
			c.d.Limits.Settle(ctx, limit, res.Usage.Prompt+res.Usage.Answer-guess)
		}
		if err == nil || fault.KindOf(err) != fault.Transient || try == callTries || ctx.Err() != nil {
			return res, err
		}
		select {
		case <-time.After(callPause << try):
		case <-ctx.Done():
			return res, context.Cause(ctx)
		}
	}
}
