// Package endpoints calls the chat endpoints that a specification names. Every call is recorded once, counted towards
// the run's budget, and kept within the endpoint's limits.
//
// It links no browser driver. It links no Temporal.
package endpoints

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/failpoint"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/method/prompts"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/policy/limits"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// Endpoints gives access to the chat endpoints of all runs from this process. If Connect is nil, no endpoint can be
// reached.
type Endpoints struct {
	Bucket  store.Bucket
	Connect func(spec.Model) (chat.Model, error) // returns a client with this process's key
	Limits  Limiter                              // shared by all workers; if nil, calls are not limited
	Warn    func(run, text string)               // warns people that a budget is nearly spent; may be nil

	// Called is called after every call, with its duration and its cost in the currency of the prices. It may be nil.
	Called func(role string, took time.Duration, u domain.Usage, cost float64)

	ledger ledger
	uses   uses
}

// Limiter enforces the limits of endpoints, as *limits.Limiter does. It is safe for concurrent use.
type Limiter interface {
	// Wait reserves a request with the given number of tokens and waits for its turn.
	Wait(ctx context.Context, of limits.Limit, tokens int) error

	// Settle corrects a reservation by the number of tokens that the request used in excess of it.
	Settle(ctx context.Context, of limits.Limit, tokens int)
}

// For returns the model with a name in the specification, to play a role, and the role's prompt. A recorded call is
// read instead of repeated, so after a kill only the calls in flight are made again. It returns an invalid fault if the
// model does not exist or this process cannot reach it.
func (e *Endpoints) For(given spec.Spec, name spec.Role, role string) (chat.Model, *prompts.Prompt, error) {
	client, p, err := e.reach(given, name, role)
	if p == nil {
		return nil, nil, err
	}

	return &recording{
		endpoints: e, spec: given, name: string(name), role: role, prompt: p, model: given.Models[name], client: client,
	}, p, err
}

// reach returns the client of an endpoint and the prompt of a role. If the prompt is nil, so is the client. The prompt
// may be set in spite of an error.
func (e *Endpoints) reach(specification spec.Spec, name spec.Role, role string) (chat.Model, *prompts.Prompt, error) {
	model, ok := specification.Models[name]
	if !ok {
		return nil, nil, fault.New(fault.Invalid, "run %q has no model %q", specification.Name, name)
	}
	if e == nil || e.Connect == nil {
		return nil, nil, fault.New(fault.Invalid, "this worker cannot reach chat endpoints")
	}

	prompt, err := rules.Prompt(specification, role)
	if err != nil {
		return nil, nil, err
	}
	client, err := e.Connect(model)
	var unsendable interface{ Header() string }
	if errors.As(err, &unsendable) {
		err = fmt.Errorf("%s: %w", variable(model, unsendable.Header()), err)
	}

	return client, prompt, err
}

// variable returns the source of a model's key, or of one of its headers.
func variable(model spec.Model, header string) string {
	if header == "" {
		return model.Key + " or " + model.Key + "_FILE"
	}
	if name, ok := strings.CutPrefix(model.Headers[header], "$"); ok {
		return name + " or " + name + "_FILE"
	}

	return "headers." + header
}

// Window returns the maximum number of tokens in a prompt and its answer together at an endpoint, or 0 if it is
// unknown.
func (e *Endpoints) Window(ctx context.Context, model spec.Model) int {
	if e == nil || e.Connect == nil {
		return 0
	}
	client, err := e.Connect(model)
	if err != nil {
		return 0
	}

	return Window(ctx, client, model.Model)
}

// Window returns the maximum number of tokens in a prompt and its answer together if the server of a model reports it,
// and 0 otherwise.
func Window(ctx context.Context, server chat.Model, model string) int {
	s, ok := server.(interface {
		Window(ctx context.Context, model string) (int, error)
	})
	if !ok {
		return 0
	}
	n, err := s.Window(ctx, model)
	if err != nil {
		return 0 // whether the server answers is checked elsewhere
	}

	return n
}

// Critic returns a run's critic, which must be a model.
func (e *Endpoints) Critic(specification spec.Spec) (credit.ModelCritic, error) {
	model, prompt, err := e.For(specification, specification.Critic.Model, prompts.Critic)
	forms := prompts.FormsOf(string(specification.Family()))
	if specification.Summariser.Notes == spec.NotesPolicy {
		forms = forms.WithNotes()
	}

	return credit.ModelCritic{
		Chat: model, Prompt: prompt, Forms: forms,
		Robust: specification.Critic.Rule == spec.RuleRobust, ByRound: specification.Critic.Scope == spec.ScopeRound,
		Silent: specification.Critic.Messages != spec.MessagesAsActions,
		Limits: specification.Prompt,
	}, err
}

// recording is a model whose calls are recorded.
type recording struct {
	endpoints  *Endpoints
	spec       spec.Spec
	name, role string
	prompt     *prompts.Prompt
	model      spec.Model
	client     chat.Model
}

// epochKey is the key of InEpoch's value in a context.
type epochKey struct{}

// InEpoch returns a context for calls that are made for an epoch. Their records contain the epoch, so its cost is
// known.
func InEpoch(ctx context.Context, epoch int) context.Context {
	return context.WithValue(ctx, epochKey{}, epoch)
}

// identity holds everything that distinguishes calls. Its digest names the record.
type identity struct {
	Endpoint, BaseURL, Role string
	Request                 chat.Request
}

// withDefaults returns a request completed by the endpoint's settings.
func withDefaults(request chat.Request, model spec.Model) chat.Request {
	request.Model = model.Model
	if request.MaxTokens == 0 {
		request.MaxTokens = model.MaxTokens
	}

	return request
}

// Complete returns the recorded answer to a request, or makes and records the call.
func (c *recording) Complete(ctx context.Context, request chat.Request) (chat.Response, error) {
	request = withDefaults(request, c.model)
	bucket := c.endpoints.Bucket
	call := runs.Run(c.spec.Name).Call(runs.Digest(identity{c.name, c.model.BaseURL, c.role, request}))
	epoch, _ := ctx.Value(epochKey{}).(int)
	var read func(wrong string) // set only if the answer is new
	release := func() {}
	defer func() { release() }() // after the call is counted
	answer, _, err := call.Record(ctx, bucket, func() (runs.Answer, error) {
		reserved, err := c.endpoints.ledger.reserve(ctx, bucket, c.spec, user{c.role, c.name})
		if err != nil {
			return runs.Answer{}, err
		}
		release = reserved
		h := helper{
			c.spec.Name, c.endpoints.ledger.identity(c.spec.Name), epoch, c.role, runs.Digest(c.model),
		}
		if err := c.endpoints.uses.check(ctx, c.endpoints, c.spec, c.name, h); err != nil {
			return runs.Answer{}, err
		}
		read = func(wrong string) { c.endpoints.uses.add(h, call.Key, wrong) }
		if text := c.endpoints.ledger.warning(c.spec.Name); text != "" && c.endpoints.Warn != nil {
			c.endpoints.Warn(c.spec.Name, text)
		}
		began := time.Now()
		res, err := c.call(ctx, request)
		if err == nil && c.endpoints.Called != nil {
			c.endpoints.Called(c.role, time.Since(began), res.Usage, c.model.Price.Of(res.Usage))
		}
		if fault.KindOf(err) == fault.Refused {
			read(err.Error())
		}

		return runs.Answer{
			Epoch:    epoch,
			Endpoint: c.name, Model: request.Model, Role: c.role, Prompt: c.prompt.Digest, Version: c.prompt.Version,
			Texts: res.Texts, Reasoning: res.Reasoning, LogProbs: res.LogProbs,
			LeftOut: slices.Sorted(maps.Keys(res.LeftOut)), Usage: res.Usage, Cost: c.model.Price.Of(res.Usage),
		}, err
	})
	if err == nil {
		c.endpoints.ledger.add(c.spec.Name, call.Key, answer)
	}

	return chat.Response{
		Texts: answer.Texts, Reasoning: answer.Reasoning, LogProbs: answer.LogProbs, Usage: answer.Usage, OnRead: read,
	}, err
}

// A call with a transient fault is repeated a few times here, because the workflow engine would wait longer and longer
// for a problem that may pass quickly. A throttled call returns to the engine with the server's Retry-After.
const (
	callTries = 3
	callPause = 200 * time.Millisecond
)

// usualAnswer is the number of answer tokens that is reserved before a call. The actual number is settled afterwards.
const usualAnswer = 500

// complete makes one request.
func (c *recording) complete(ctx context.Context, request chat.Request) (res chat.Response, err error) {
	err = failpoint.Do("ask.endpoint", func(bool) (err error) {
		res, err = c.client.Complete(ctx, request)

		return err
	})

	return res, err
}

// call calls the endpoint within its limits.
func (c *recording) call(ctx context.Context, request chat.Request) (chat.Response, error) {
	limiter := c.endpoints.Limits
	limit := limits.Limit{
		Name:     c.model.BaseURL + " " + c.model.Model,
		Requests: c.model.RequestsPerMinute,
		Tokens:   c.model.TokensPerMinute,
	}
	guess := (len(request.System)+len(request.User))/chat.CharsPerToken + min(request.MaxTokens, usualAnswer)

	// Both a wait within the limits and a call end by themselves.
	defer While(ctx, "asks "+c.model.Model)()
	for try := 1; ; try++ {
		if limiter != nil {
			if err := limiter.Wait(ctx, limit, guess); err != nil {
				return chat.Response{}, err
			}
		}

		res, err := c.complete(ctx, request)
		if limiter != nil && err == nil {
			limiter.Settle(ctx, limit, res.Usage.Prompt+res.Usage.Answer-guess)
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
