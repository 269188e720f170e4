package activities

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/episode"
	"github.com/collabui/collabui/internal/method/prompts"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/method/synth"
	"github.com/collabui/collabui/internal/observe/telemetry"
	"github.com/collabui/collabui/internal/policy/endpoints"
	"github.com/collabui/collabui/internal/store"
)

// Common is what every type of activity needs. (It has no exported method: every exported method of a registered type
// would be an activity.)
type Common struct {
	Bucket  store.Bucket
	Catalog spec.Catalog
	Emit    Emit
	Log     *slog.Logger       // nil: logs nothing
	Kernel  string             // the arithmetic of the embedded policy in this process
	Metrics *telemetry.Metrics // nil: counts nothing

	specs   sync.Map // *versions by run
	prompts sync.Map // digests of the prompts of all roles by those of a specification
	reads   singleflight.Group
}

// log returns a logger with attributes such as run, epoch, slot and agent.
func (c *Common) log(run string, attributes ...any) *slog.Logger {
	l := c.Log
	if l == nil {
		l = slog.New(slog.DiscardHandler)
	}

	return l.With("run", run).With(attributes...)
}

// maxPlaceWait is how long an episode waits for an environment: others play longer than an activity may be silent.
const maxPlaceWait = 100 * time.Minute

// in is episode.In, and counts the environments that play. It begins no episode while a person holds the run.
func (c *Common) in(
	ctx context.Context, run string, suite envadapters.Suite, family domain.Family,
	play func(envadapters.Environment) error,
) error {
	wait, cancel := context.WithTimeout(ctx, maxPlaceWait)
	defer cancel()
	stop := endpoints.While(wait, "waits for an environment")

	return episode.In(ctx, suite, family, func(env envadapters.Environment) error {
		stop()
		defer func() { stop = endpoints.While(wait, "waits for another environment") }()
		if err := c.held(ctx, run); err != nil {
			return err
		}
		defer c.Metrics.Take(suite.Name())()

		return play(env)
	})
}

// Wording is what the embedded policy can say and read. Language models use their own words and read all.
type Wording struct {
	Render func(domain.Action) (string, error)   // the answer with an action
	Fits   func(prompt, answer string) (ok bool) // reports whether the policy can write an answer to a prompt
	Over   func(prompt string) int               // returns how much of a prompt is too much for the policy
}

// target returns the policy that the data of stage 1 are made for.
func (w Wording) target(s spec.Spec) (synth.Target, error) {
	template, err := rules.Template(s)
	t := synth.Target{
		Template: rules.Bound(s, template, w.Over), Family: s.Family(),
		Share: s.FineTune.MessageShare, Agents: s.Agents,
	}
	if s.Embedded() {
		t.Render, t.Fits = w.Render, w.Fits
	}

	return t, err
}

// errNoExpert means that the environment can demonstrate nothing.
func errNoExpert(s spec.Spec) error {
	return fault.New(fault.Invalid,
		"environment %s has neither an expert nor a judge: set finetune.levels and a model as synthesis.agent, "+
			"or a policy as finetune.base", s.Environment)
}

// summarise returns how a step's line of the history is written: by fixed rules, which is nil, or by a model, whose
// calls derive their seeds from seed.
func summarise(
	e *endpoints.Endpoints, s spec.Spec, seed uint64,
) func(context.Context, episode.Executed) (string, error) {
	if s.Summariser.Model == spec.RoleTemplate {
		return nil
	}

	return func(ctx context.Context, x episode.Executed) (string, error) {
		model, p, err := e.For(s, s.Summariser.Model, prompts.Summariser)
		if err != nil {
			return "", err
		}
		h := agents.ExecutedStep{
			Step: x.Number, Goal: x.Goal, Before: x.Observation, After: x.After, Invalid: x.Invalid,
			Line: agents.Summarise(x.Number, x.Action, x.Observation, x.Invalid),
		}

		return agents.ModelSummary(ctx, model, p, h, domain.Seed(seed, "summary", x.Number))
	}
}
