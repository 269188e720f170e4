package endpoints_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/prompts"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/policy/endpoints"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// server is a chat endpoint that first returns its errors in order, and then answers.
type server struct {
	errs     []error
	leftOut  map[string]string
	requests []chat.Request
}

func (s *server) Complete(_ context.Context, r chat.Request) (chat.Response, error) {
	s.requests = append(s.requests, r)
	if n := len(s.requests); n <= len(s.errs) {
		return chat.Response{}, s.errs[n-1]
	}

	return chat.Response{
		Texts: []string{"yes"}, Usage: domain.Usage{Prompt: 100, Answer: 50}, LeftOut: s.leftOut,
	}, nil
}

// connect returns the endpoints of one worker, which all lead to the server.
func connect(b store.Bucket, s *server) *endpoints.Endpoints {
	return &endpoints.Endpoints{Bucket: b, Connect: func(spec.Model) (chat.Model, error) { return s, nil }}
}

// run returns the specification of a run with one endpoint. A call of the server costs 200 in the currency of the
// prices.
func run() spec.Spec {
	s := spec.Default()
	s.Name = "r"
	m := spec.DefaultModel()
	m.BaseURL, m.Model, m.MaxTokens = "http://judge/v1", "judge-1", 300
	m.Price = spec.Price{Prompt: 1e6, Answer: 2e6}
	s.Models = map[spec.Role]spec.Model{"judge": m}

	return s
}

// beginRun records the specification of a run.
func beginRun(t *testing.T, b store.Bucket, s spec.Spec) {
	t.Helper()
	begun := func() (spec.Spec, error) { return s, nil }
	if _, _, err := runs.Run(s.Name).Spec().Record(t.Context(), b, begun); err != nil {
		t.Fatal(err)
	}
}

// model returns the recorded model that plays the critic in a run that has begun.
func model(t *testing.T, e *endpoints.Endpoints, s spec.Spec) chat.Model {
	t.Helper()
	beginRun(t, e.Bucket, s)
	m, p, err := e.For(s, "judge", prompts.Critic)
	if err != nil {
		t.Fatal(err)
	}
	if p == nil {
		t.Fatal("For returned no prompt, want that of the critic")
	}

	return m
}

func TestARecordedCallIsNotMadeAgain(t *testing.T) {
	b, srv, s := &store.Memory{}, &server{}, run()
	request := chat.Request{System: "s", User: "u", Seed: 3}

	first, err := model(t, connect(b, srv), s).Complete(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	again, err := model(t, connect(b, srv), s).Complete(t.Context(), request) // by another worker
	if err != nil {
		t.Fatal(err)
	}
	first.OnRead = nil // only the first answer was read by its role
	if !reflect.DeepEqual(again, first) || first.Texts[0] != "yes" {
		t.Errorf("the recorded answer = %+v, want the first one, %+v", again, first)
	}
	if len(srv.requests) != 1 {
		t.Errorf("the server was asked %d times, want once", len(srv.requests))
	}

	got := srv.requests[0]
	if got.Model != "judge-1" || got.MaxTokens != 300 {
		t.Errorf("the server was asked for %d tokens of %q, want 300 of judge-1", got.MaxTokens, got.Model)
	}
	spent, err := runs.Run("r").Spent(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	if want := (runs.Spent{Calls: 1, Tokens: 150, Money: 200}); spent != want {
		t.Errorf("Spent = %+v, want %+v", spent, want)
	}
}

func TestARecordNamesWhatWasLeftOut(t *testing.T) {
	b, s := &store.Memory{}, run()
	srv := &server{leftOut: map[string]string{"top_p": "no", "temperature": "no"}}
	if _, err := model(t, connect(b, srv), s).Complete(t.Context(), chat.Request{User: "u"}); err != nil {
		t.Fatal(err)
	}

	var left []string
	err := runs.Run("r").Calls(t.Context(), b, func(string) bool { return false }, func(_ string, a runs.Answer) {
		left = a.LeftOut
	})
	if want := []string{"temperature", "top_p"}; err != nil || !reflect.DeepEqual(left, want) {
		t.Errorf("the record names %v, %v, want %v", left, err, want)
	}
}

func TestCallsThatDifferAreMadeEachOnItsOwn(t *testing.T) {
	first := chat.Request{System: "s", User: "u", Seed: 3}
	seed, text, tokens := first, first, first
	seed.Seed, text.User, tokens.MaxTokens = 4, "v", 200
	other := run()
	other.Name = "another"
	moved := run()
	m := moved.Models["judge"]
	m.BaseURL = "http://elsewhere/v1"
	moved.Models["judge"] = m

	for name, c := range map[string]struct {
		spec    spec.Spec
		request chat.Request
	}{
		"another seed":             {run(), seed},
		"another text":             {run(), text},
		"another number of tokens": {run(), tokens},
		"another run":              {other, first},
		"another address":          {moved, first},
	} {
		t.Run(name, func(t *testing.T) {
			b, srv := &store.Memory{}, &server{}
			e := connect(b, srv)
			if _, err := model(t, e, run()).Complete(t.Context(), first); err != nil {
				t.Fatal(err)
			}
			if _, err := model(t, e, c.spec).Complete(t.Context(), c.request); err != nil {
				t.Fatal(err)
			}
			if len(srv.requests) != 2 {
				t.Errorf("the server was asked %d times, want twice", len(srv.requests))
			}
		})
	}
}

func TestTwoRolesOfOneModelAreAskedEachOnTheirOwn(t *testing.T) {
	b, srv := &store.Memory{}, &server{}
	beginRun(t, b, run())
	e := connect(b, srv)
	for _, role := range []string{prompts.Critic, prompts.Adversary} {
		m, _, err := e.For(run(), "judge", role)
		if err == nil {
			_, err = m.Complete(t.Context(), chat.Request{System: "s", User: "u", Seed: 3})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(srv.requests) != 2 {
		t.Errorf("the server was asked %d times, want twice", len(srv.requests))
	}
}

func TestATransientFaultIsTriedThreeTimesAndAThrottledOneIsNot(t *testing.T) {
	down := fault.New(fault.Transient, "down")
	busy := fault.After(fault.Throttled, time.Minute, "busy")
	refused := fault.New(fault.Invalid, "refused")

	for name, c := range map[string]struct {
		errs  []error
		calls int
		want  error
	}{
		"it passes after one":       {[]error{down}, 2, nil},
		"it passes after two":       {[]error{down, down}, 3, nil},
		"it does not pass":          {[]error{down, down, down, down}, 3, down},
		"throttled":                 {[]error{busy, busy}, 1, busy},
		"throttled after transient": {[]error{down, busy}, 2, busy},
		"refused":                   {[]error{refused}, 1, refused},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, srv := &store.Memory{}, &server{errs: c.errs}
				_, err := model(t, connect(b, srv), run()).Complete(t.Context(), chat.Request{User: "u"})
				if !errors.Is(err, c.want) {
					t.Errorf("Complete returned the error %v, want %v", err, c.want)
				}
				if fault.RetryAfter(err) != fault.RetryAfter(c.want) {
					t.Errorf("RetryAfter = %v, want %v", fault.RetryAfter(err), fault.RetryAfter(c.want))
				}
				if len(srv.requests) != c.calls {
					t.Errorf("the server was asked %d times, want %d", len(srv.requests), c.calls)
				}

				recorded := 0
				if c.want == nil {
					recorded = 1
				}
				spent, err := runs.Run("r").Spent(t.Context(), b)
				if err != nil {
					t.Fatal(err)
				}
				if spent.Calls != recorded {
					t.Errorf("%d calls are recorded, want %d", spent.Calls, recorded)
				}
			})
		})
	}
}

func TestACallThatIsCancelledIsNotTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("the worker stops")
		srv := &server{errs: []error{fault.New(fault.Transient, "down")}}
		time.AfterFunc(time.Millisecond, func() { cancel(why) })

		_, err := model(t, connect(&store.Memory{}, srv), run()).Complete(ctx, chat.Request{User: "u"})
		if !errors.Is(err, why) || len(srv.requests) != 1 {
			t.Errorf("Complete asked %d times and returned %v, want once and %v", len(srv.requests), err, why)
		}
	})
}

func TestAnEndpointThatCannotBeReachedIsInvalid(t *testing.T) {
	reached := connect(&store.Memory{}, &server{})
	for name, c := range map[string]struct {
		endpoints *endpoints.Endpoints
		model     spec.Role
		want      string
	}{
		"no such model":                   {reached, "author", `has no model "author"`},
		"a worker without endpoints":      {nil, "judge", "cannot reach chat endpoints"},
		"a worker that cannot connect":    {&endpoints.Endpoints{}, "judge", "cannot reach chat endpoints"},
		"no such model, and no endpoints": {nil, "author", `has no model "author"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := c.endpoints.For(run(), c.model, prompts.Critic)
			if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), c.want) {
				t.Errorf("For = %v, want an invalid fault that says %q", err, c.want)
			}
		})
	}
}

func TestTheCriticFollowsTheSpecification(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*spec.Critic)
		robust  bool
		byRound bool
	}{
		"defaults":         {func(*spec.Critic) {}, true, false},
		"by round":         {func(c *spec.Critic) { c.Scope = spec.ScopeRound }, true, true},
		"the paper's rule": {func(c *spec.Critic) { c.Rule = spec.RulePaper }, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := run()
			s.Critic.Model = "judge"
			c.change(&s.Critic)
			got, err := connect(&store.Memory{}, &server{}).Critic(s)
			if err != nil {
				t.Fatal(err)
			}
			if got.Robust != c.robust || got.ByRound != c.byRound {
				t.Errorf("Critic is robust: %v, by round: %v; want %v and %v",
					got.Robust, got.ByRound, c.robust, c.byRound)
			}
			if got.Chat == nil || got.Prompt == nil {
				t.Errorf("Critic = %+v, want a model and a prompt", got)
			}
		})
	}
}
