package activities

import (
	"context"
	"fmt"

	"go.temporal.io/sdk/activity"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/internal/fault"
	"github.com/collabui/collabui/internal/record"
	"github.com/collabui/collabui/internal/spec"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/system"
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
}

// Decoding states the decoding as it stands in results.
func (e EvalSystem) Decoding() string {
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
	suite, err := r.suite(s.Environment)
	if err != nil {
		return EvalPart{}, err
	}
	var out EvalPart
	for i := e.From; i < e.To; i++ {
		say(fmt.Sprintf("%s on %s, episode %d", e.Item.System.Name, e.Item.Split, i+1))
		id := EvalID(e.Item.Folder, e.Item.System.Name, e.Item.Split)
		ep, _, err := store.RecordOnce(ctx, r.Bucket, store.EvalKey(e.Item.Run, id, fmt.Sprintf("%04d", i+1)), func() (record.EvalEpisode, error) {
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

// EvalTask is task i of a split: templates in turn, seeds of their own.
func EvalTask(s spec.Spec, suite envadapters.Suite, split string, i int) (domain.Task, error) {
	ts, err := suite.Templates(split)
	if err != nil || len(ts) == 0 {
		return domain.Task{}, fault.New(fault.Invalid, "split %q of %s has no templates (%w)", split, s.Environment, err)
	}
	t := ts[i%len(ts)]
	return domain.Task{Suite: s.Environment, Template: t.Name, Split: split, Seed: domain.Seed(s.Evaluation.Seed, s.Environment, split, i), MaxSteps: t.MaxSteps}, nil
}

func (r *Rollouts) evalEpisode(ctx context.Context, s spec.Spec, suite envadapters.Suite, item EvalItem, i int) (record.EvalEpisode, error) {
	task, err := EvalTask(s, suite, item.Split, i)
	if err != nil {
		return record.EvalEpisode{}, err
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
	out := record.EvalEpisode{Task: task, Topology: i % len(topos)}
	conf := system.Config{Policies: policies, Topology: topos[out.Topology], Rounds: item.System.Rounds, Temperature: item.System.Temperature, TopP: item.System.TopP,
		MaxTokens: s.Decoding.MaxTokens, VoteScope: s.VoteScope, ViewDropout: s.ViewDropout, Early: true, Thoughts: s.Decoding.ShareThoughts}
	if conf.Template, err = Template(s); err != nil {
		return out, err
	}
	err = inEnvironment(ctx, suite, s.Family(), func(env envadapters.Environment) (err error) {
		out.Outcome, err = r.playEval(ctx, s, env, conf, task, domain.Seed(s.Evaluation.Seed, "calls", item.Split, i))
		return err
	})
	if err != nil && fault.KindOf(err) == fault.Void && ctx.Err() == nil && item.Split != domain.SplitVal && activity.GetInfo(ctx).Attempt >= MaxTries {
		out.Outcome, err = domain.Outcome{Void: err.Error()}, nil // missing: reported, never scored; val decides things, so it is never incomplete
	}
	return out, err
}

func (r *Rollouts) playEval(ctx context.Context, s spec.Spec, env envadapters.Environment, conf system.Config, task domain.Task, seed uint64) (domain.Outcome, error) {
	var out domain.Outcome
	tr, err := env.Reset(ctx, task)
	if err != nil {
		return out, err
	}
	goal, history := tr.Goal, tr.History
	for n := 1; !tr.Terminated && !tr.Truncated; n++ {
		d, err := system.Decide(ctx, r.Chat, conf, system.View{Goal: goal, History: history, Observation: tr.Observation}, domain.Seed(seed, n))
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

// Conclude records an item's result.
func (c *Control) Conclude(ctx context.Context, t Tally) (record.Result, error) {
	id := EvalID(t.Item.Folder, t.Item.System.Name, t.Item.Split)
	res, _, err := store.RecordOnce(ctx, c.Bucket, store.EvalKey(t.Item.Run, id, "result"), func() (record.Result, error) {
		return record.NewResult(t.Item.System.Name, t.Item.Split, t.Part.Successes, t.Item.Episodes-t.Part.Missing, t.Part.Missing, t.Item.System.Decoding()), nil
	})
	if err != nil {
		return done(res, err)
	}
	c.emit(t.Item.Run, map[string]any{"event": "result", "folder": t.Item.Folder, "system": res.System, "split": res.Split, "episodes": res.Episodes, "successes": res.Successes, "rate": res.Rate})
	return done(res, err)
}
