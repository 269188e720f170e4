package activities

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/sdk/activity"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/method/system"
	"github.com/collabui/collabui/internal/store/runs"
)

// EvalBatch is the number of episodes per activity.
const EvalBatch = 25

// EvalSystem is what is evaluated: which policies, and how they decide. A single agent has one round.
type EvalSystem struct {
	Name        string
	Policies    []string
	Rounds      int
	Temperature []float64
	TopP        float64
	Silent      bool // agents read no messages: the topology has no edges
	OneOf       bool // one of the policies plays alone, another one from episode to episode

	Always   *domain.Action `json:",omitempty"` // a reference without policies: this action, always
	Recorded bool           `json:",omitempty"` // a reference without policies: what the environment's expert does, of recorded tasks the recorded action
}

// Decoding states the decoding as it stands in results.
func (e EvalSystem) Decoding() string {
	if e.Always != nil || e.Recorded {
		return "no policy"
	}
	n := len(e.Policies)
	if e.OneOf {
		n = 1
	}
	s := fmt.Sprintf("n=%d m=%d temperature=%v top_p=%v", n, e.Rounds, e.Temperature, e.TopP)
	if e.Silent {
		s += " without messages"
	}
	return s
}

// EvalItem is one system on one split.
type EvalItem struct {
	Run      string
	Folder   string // EpochFolder, or ReproduceFolder
	System   EvalSystem
	Split    string
	Episodes int

	Environment string              `json:",omitempty"` // where it is another one than the run's: its name there
	Options     envadapters.Options `json:",omitzero"`  // of that one
}

// ID is the item's folder below the run's evaluations.
func (i EvalItem) ID() string {
	if i.Environment != "" {
		return EvalID(i.Folder, i.System.Name, i.Environment+"."+i.Split)
	}
	return EvalID(i.Folder, i.System.Name, i.Split)
}

// where gives the options of the item's environment.
func (i EvalItem) where(s spec.Spec) envadapters.Options {
	if i.Environment != "" {
		return i.Options
	}
	return s.Where(s.Environment)
}

// Folders of evaluations.
const ReproduceFolder = "reproduce"

// EpochFolder is where an epoch's evaluations stand.
func EpochFolder(epoch int) string { return fmt.Sprintf("epoch-%04d", epoch) }

// EvalID is the folder of an evaluated item.
func EvalID(folder, system, split string) string { return folder + "/" + system + "/" + split }

// EvalRange is a part of an item.
type EvalRange struct {
	Item EvalItem
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
	suite, err := r.suite(e.Item.where(s))
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
	r.emit(e.Item.Run, map[string]any{"event": "evaluation", "folder": e.Item.Folder, "system": e.Item.System.Name, "split": e.Item.Split, "from": e.From, "to": e.To, "successes": out.Successes})
	return out, nil
}

// EvalTask is task i of a split: templates in turn, seeds of their own. They follow from the suite, never from the name that a specification gives it.
func EvalTask(s spec.Spec, suite envadapters.Suite, split string, i int) (domain.Task, error) {
	ts, err := suite.Templates(split)
	if err != nil {
		return domain.Task{}, err
	}
	if len(ts) == 0 {
		return domain.Task{}, fault.New(fault.Invalid, "split %q of %s has no templates", split, suite.Name())
	}
	t := ts[i%len(ts)]
	return domain.Task{Suite: suite.Name(), Template: t.Name, Split: split, Seed: domain.Seed(s.Evaluation.Seed, suite.Name(), split, i), MaxSteps: t.MaxSteps}, nil
}

func (r *Rollouts) evalEpisode(ctx context.Context, s spec.Spec, suite envadapters.Suite, item EvalItem, i int) (runs.EvalEpisode, error) {
	task, err := EvalTask(s, suite, item.Split, i)
	if err != nil {
		return runs.EvalEpisode{}, err
	}
	if item.System.Always != nil || item.System.Recorded {
		out := runs.EvalEpisode{Task: task}
		err := inEnvironment(ctx, suite, suite.Family(), func(env envadapters.Environment) (err error) {
			out.Outcome, err = r.playEval(ctx, s, env, task, 0, item.System.refer(env))
			return err
		})
		return out, err
	}
	policies := item.System.Policies
	if item.System.OneOf {
		policies = policies[domain.Seed(s.Evaluation.Seed, "one of", item.Split, i)%uint64(len(policies)):][:1]
	}
	n := len(policies)
	topos := domain.EvaluationTopologies(n)
	if item.System.Silent {
		topos = []domain.Topology{{Agents: n, Edges: [][2]int{}}}
	}
	out := runs.EvalEpisode{Task: task, Topology: i % len(topos)}
	conf := system.Config{Policies: policies, Topology: topos[out.Topology], Rounds: item.System.Rounds, Temperature: item.System.Temperature, TopP: item.System.TopP,
		MaxTokens: s.Decoding.MaxTokens, VoteScope: s.VoteScope, ViewDropout: s.ViewDropout, Early: true, Thoughts: s.Decoding.ShareThoughts}
	if conf.Template, err = Template(s); err != nil {
		return out, err
	}
	err = inEnvironment(ctx, suite, s.Family(), func(env envadapters.Environment) (err error) {
		calls := domain.Seed(s.Evaluation.Seed, "calls", item.Split, i)
		out.Outcome, err = r.playEval(ctx, s, env, task, calls, func(v system.View, n int) (domain.Decision, error) {
			return system.Decide(ctx, r.Chat, conf, v, domain.Seed(calls, n))
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
func (e EvalSystem) refer(env envadapters.Environment) func(system.View, int) (domain.Decision, error) {
	return func(system.View, int) (domain.Decision, error) {
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
func (r *Rollouts) playEval(ctx context.Context, s spec.Spec, env envadapters.Environment, task domain.Task, seed uint64, decide func(v system.View, n int) (domain.Decision, error)) (domain.Outcome, error) {
	var out domain.Outcome
	tr, err := env.Reset(ctx, task)
	if err != nil {
		return out, err
	}
	goal, history := tr.Goal, tr.History
	for n := 1; !tr.Terminated && !tr.Truncated; n++ {
		d, err := decide(system.View{Goal: goal, History: history, Observation: tr.Observation}, n)
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

// Tally is an evaluated item.
type Tally struct {
	Item EvalItem
	Part EvalPart
}

// outcomes reads the episodes of an item.
func (c *Control) outcomes(ctx context.Context, item EvalItem) ([]domain.Outcome, error) {
	out := make([]domain.Outcome, item.Episodes)
	err := parallel(ctx, item.Episodes, 8, func(ctx context.Context, i int) error {
		ep, _, err := runs.Run(item.Run).EvalEpisode(item.ID(), i+1).Read(ctx, c.Bucket)
		out[i] = ep.Outcome
		return err
	})
	return out, err
}

// Refer evaluates a reference without policies on a split, in this process and without a store: all templates once.
func Refer(ctx context.Context, suite envadapters.Suite, split string, system EvalSystem) (runs.Result, error) {
	r, s := &Rollouts{Deps: &Deps{}}, spec.Default()
	ts, err := suite.Templates(split)
	if err != nil {
		return runs.Result{}, err
	}
	var tasks []domain.Outcome
	wins := 0
	for i := range ts {
		ep, err := r.evalEpisode(ctx, s, suite, EvalItem{System: system, Split: split}, i)
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

// References are the systems without policies that stand in every table of recorded tasks.
func References() []EvalSystem {
	return []EvalSystem{{Name: "always-finish", Always: &domain.Action{Family: domain.FamilyWeb, Type: domain.ActionFinish}}, {Name: "recorded-action", Recorded: true}}
}

// Conclude records an item's result.
func (c *Control) Conclude(ctx context.Context, t Tally) (runs.Result, error) {
	s, err := c.spec(ctx, t.Item.Run)
	if err != nil {
		return done(runs.Result{}, err)
	}
	res, _, err := runs.Run(t.Item.Run).Result(t.Item.ID()).Record(ctx, c.Bucket, func() (runs.Result, error) {
		suite, err := c.suite(t.Item.where(s))
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
	c.emit(t.Item.Run, map[string]any{"event": "result", "folder": t.Item.Folder, "system": res.System, "split": res.Split, "episodes": res.Episodes, "successes": res.Successes, "rate": res.Rate})
	return done(res, err)
}
