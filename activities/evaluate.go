package activities

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/sdk/activity"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/process/events"
	"github.com/collabui/collabui/internal/store/runs"
)

// EvalBatch is the number of episodes per activity.
const EvalBatch = 25

// EvalRange is a part of an item.
type EvalRange struct {
	Item rules.EvalItem
	From int
	To   int // exclusive
}

// EvalPart is what a range gave.
type EvalPart struct{ Successes, Missing int }

// Evaluate plays a range of an evaluation's tasks. Tasks, topologies and call seeds derive from (evaluation seed, suite, split, task): never from a run's
// or a system's name, so that systems are compared on the same episodes. A fault repeats the same task, an outcome never does.
func (r *Rollouts) Evaluate(ctx context.Context, e EvalRange) (EvalPart, error) {
	say, stop := heartbeat(ctx)
	defer stop()
	p, err := r.evaluate(ctx, e, say)
	return done(p, err)
}

func (r *Rollouts) evaluate(ctx context.Context, e EvalRange, say func(string)) (EvalPart, error) {
	s, err := r.spec(ctx, e.Item.Run)
	if err != nil {
		return EvalPart{}, err
	}
	suite, err := r.suite(e.Item.Where(s))
	if err != nil {
		return EvalPart{}, err
	}
	var out EvalPart
	for i := e.From; i < e.To; i++ {
		say(fmt.Sprintf("%s on %s, episode %d", e.Item.System.Name, e.Item.Split, i+1))
		ep, _, err := runs.Run(e.Item.Run).EvalEpisode(e.Item.ID(), i+1).Record(ctx, r.Bucket, func() (runs.EvalEpisode, error) {
			return r.evalEpisode(ctx, s, suite, e.Item, i)
		})
		if err != nil {
			return out, err
		}
		if ep.Outcome.Success {
			out.Successes++
		}
		if ep.Outcome.Void != "" {
			out.Missing++
		}
	}
	r.emit(e.Item.Run, events.Evaluation{Folder: e.Item.Folder, System: e.Item.System.Name, Split: e.Item.Split, From: e.From, To: e.To, Successes: out.Successes})
	return out, nil
}

func (r *Rollouts) evalEpisode(ctx context.Context, s spec.Spec, suite envadapters.Suite, item rules.EvalItem, i int) (runs.EvalEpisode, error) {
	task, err := rules.EvalTask(s, suite, item.Split, i)
	if err != nil {
		return runs.EvalEpisode{}, err
	}
	if item.System.IsReference() {
		out := runs.EvalEpisode{Task: task}
		err := inEnvironment(ctx, suite, suite.Family(), func(env envadapters.Environment) (err error) {
			out.Outcome, err = r.playEval(ctx, s, env, task, 0, refer(item.System, env))
			return err
		})
		return out, err
	}
	conf, topology, err := item.System.Config(s, item.Split, uint64(i))
	out := runs.EvalEpisode{Task: task, Topology: topology}
	if err != nil {
		return out, err
	}
	err = inEnvironment(ctx, suite, s.Family(), func(env envadapters.Environment) (err error) {
		calls := rules.EvalCalls(s, item.Split, i)
		out.Outcome, err = r.playEval(ctx, s, env, task, calls, func(v agents.View, n int) (domain.Decision, error) {
			return agents.Decide(ctx, r.Chat, conf, v, domain.Seed(calls, n))
		})
		return err
	})
	lost := errors.Is(err, envadapters.ErrTask) || fault.KindOf(err) == fault.Void && activity.GetInfo(ctx).Attempt >= MaxTries
	if err != nil && lost && ctx.Err() == nil && item.Split != domain.SplitVal {
		out.Outcome, err = domain.Outcome{Void: err.Error()}, nil // missing: reported, never scored; val decides things, so it is never incomplete
	}
	return out, err
}

// refer decides as a reference does. A reference that knows no action does nothing.
func refer(e rules.EvalSystem, env envadapters.Environment) func(agents.View, int) (domain.Decision, error) {
	return func(agents.View, int) (domain.Decision, error) {
		a := domain.Action{Type: domain.ActionNone}
		if e.Always != nil {
			a = *e.Always
		} else if x := envadapters.Can(env).Expert; x != nil {
			if known, ok := x.Advise(); ok {
				a = known
			}
		}
		return domain.Decision{Executed: a}, nil
	}
}

// playEval plays an episode of an evaluation; decide gives the decision of step n.
func (r *Rollouts) playEval(ctx context.Context, s spec.Spec, env envadapters.Environment, task domain.Task, seed uint64, decide func(v agents.View, n int) (domain.Decision, error)) (domain.Outcome, error) {
	var out domain.Outcome
	tr, err := env.Reset(ctx, task)
	if err != nil {
		return out, err
	}
	goal, history := tr.Goal, tr.History
	for n := 1; !tr.Terminated && !tr.Truncated; n++ {
		d, err := decide(agents.View{Goal: goal, History: history, Observation: tr.Observation}, n)
		if err != nil {
			return out, err
		}
		before := tr.Observation
		if tr, err = env.Step(ctx, d.Executed); err != nil {
			return out, err
		}
		invalid := NothingDone(d, tr.Invalid)
		tr.Invalid = invalid
		if history, err = r.remember(ctx, s, seed, n, goal, history, d.Executed, before, tr); err != nil {
			return out, err
		}
		out.Steps = n
		if invalid != "" {
			out.Invalid++
		}
	}
	sc, err := env.Score(ctx)
	out.Success, out.Truncated, out.Metrics = sc.Success, tr.Truncated, sc.Metrics
	return out, err
}

// Evaluated is an evaluated item.
type Evaluated struct {
	Item rules.EvalItem
	Part EvalPart
}

// outcomes reads the episodes of an item.
func (c *Control) outcomes(ctx context.Context, item rules.EvalItem) ([]domain.Outcome, error) {
	out := make([]domain.Outcome, item.Episodes)
	err := parallel(ctx, item.Episodes, 8, func(ctx context.Context, i int) error {
		ep, _, err := runs.Run(item.Run).EvalEpisode(item.ID(), i+1).Read(ctx, c.Bucket)
		out[i] = ep.Outcome
		return err
	})
	return out, err
}

// Refer evaluates a reference without policies on a split, in this process and without a store: all templates once.
func Refer(ctx context.Context, suite envadapters.Suite, split string, system rules.EvalSystem) (runs.Result, error) {
	r, s := &Rollouts{Deps: &Deps{}}, spec.Default()
	ts, err := suite.Templates(split)
	if err != nil {
		return runs.Result{}, err
	}
	var tasks []domain.Outcome
	wins := 0
	for i := range ts {
		ep, err := r.evalEpisode(ctx, s, suite, rules.EvalItem{System: system, Split: split}, i)
		if err != nil {
			return runs.Result{}, err
		}
		tasks = append(tasks, ep.Outcome)
		if ep.Outcome.Success {
			wins++
		}
	}
	res := runs.NewResult(system.Name, split, wins, len(ts), 0, system.Decoding())
	if p := envadapters.ProtocolOf(suite); p != "" {
		res = runs.NewRecorded(system.Name, split, envadapters.StepSR, system.Decoding(), tasks)
		res.Protocol = p
	}
	res.Environment = suite.Title()
	return res, nil
}

// Conclude records an item's result.
func (c *Control) Conclude(ctx context.Context, t Evaluated) (runs.Result, error) {
	s, err := c.spec(ctx, t.Item.Run)
	if err != nil {
		return done(runs.Result{}, err)
	}
	res, _, err := runs.Run(t.Item.Run).Result(t.Item.ID()).Record(ctx, c.Bucket, func() (runs.Result, error) {
		suite, err := c.suite(t.Item.Where(s))
		if err != nil {
			return runs.Result{}, err
		}
		where := runs.Where{Protocol: envadapters.ProtocolOf(suite)}
		if where.Protocol != "" || t.Item.Environment != "" {
			where.Environment = suite.Title()
			if v, ok := suite.(envadapters.Versioned); ok {
				if where.Version, err = v.Version(ctx); err != nil {
					return runs.Result{}, err
				}
			}
		}
		res := runs.NewResult(t.Item.System.Name, t.Item.Split, t.Part.Successes, t.Item.Episodes-t.Part.Missing, t.Part.Missing, t.Item.System.Decoding())
		if where.Protocol != "" {
			tasks, err := c.outcomes(ctx, t.Item)
			if err != nil {
				return res, err
			}
			res = runs.NewRecorded(res.System, res.Split, envadapters.StepSR, res.Decoding, tasks)
		}
		where.Metrics = res.Metrics
		res.Where = where
		return res, nil
	})
	if err != nil {
		return done(res, err)
	}
	c.emit(t.Item.Run, events.Result{Folder: t.Item.Folder, System: res.System, Split: res.Split, Episodes: res.Episodes, Successes: res.Successes, Rate: res.Rate})
	return done(res, err)
}
