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
		MaxTokens: s.Decoding.MaxTokens, VoteScope: s.VoteScope, ViewDropout: s.ViewDropout, Early: true}
	err = inEnvironment(ctx, suite, func(env envadapters.Environment) (err error) {
		out.Outcome, err = r.playEval(ctx, env, conf, task, domain.Seed(s.Evaluation.Seed, "calls", item.Split, i))
		return err
	})
	if err != nil && fault.KindOf(err) == fault.Void && ctx.Err() == nil && item.Split != domain.SplitVal && activity.GetInfo(ctx).Attempt >= MaxTries {
		out.Outcome, err = domain.Outcome{Void: err.Error()}, nil // missing: reported, never scored; val decides things, so it is never incomplete
	}
	return out, err
}

func (r *Rollouts) playEval(ctx context.Context, env envadapters.Environment, conf system.Config, task domain.Task, seed uint64) (domain.Outcome, error) {
	var out domain.Outcome
	tr, err := env.Reset(ctx, task)
	if err != nil {
		return out, err
	}
	goal, history := tr.Goal, []string(nil)
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
		history = append(history, system.Summarise(n, d.Executed, before, invalid))
		out.Steps = n
		if invalid != "" {
			out.Invalid++
		}
	}
	sc, err := env.Score(ctx)
	out.Success, out.Truncated = sc.Success, tr.Truncated
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

// SystemsID asks for the systems of an epoch; 0 is the base.
type SystemsID struct {
	Run   string
	Epoch int
}

// Names of systems in results. base-1 is the better of its two decodings on val.
const (
	nameBaseGreedy = "base-1-greedy"
	nameBaseWarm   = "base-1-t0.2"
)

// TrainedName and BaseName are the names of n-agent systems.
func TrainedName(n int) string { return fmt.Sprintf("trained-%d", n) }

// BaseName is the name of the base policy n times.
func BaseName(n int) string { return fmt.Sprintf("base-%d", n) }

// Systems lists what can be evaluated at an epoch: of epoch 0 both decodings of one base agent and the base policy n times, of others the trained system.
func (c *Control) Systems(ctx context.Context, id SystemsID) ([]EvalSystem, error) {
	s, err := c.spec(ctx, id.Run)
	if err != nil {
		return done[[]EvalSystem](nil, err)
	}
	var policies []string
	if id.Epoch == 0 {
		b, _, err := store.Read[record.Base](ctx, c.Bucket, store.BaseKey(id.Run))
		if err != nil {
			return done[[]EvalSystem](nil, err)
		}
		for range s.Agents {
			policies = append(policies, b.Policy.Digest)
		}
		one := func(name string, t float64) EvalSystem {
			return EvalSystem{Name: name, Policies: policies[:1], Rounds: 1, Temperature: []float64{t}, TopP: s.Decoding.TopP}
		}
		alone := []EvalSystem{one(nameBaseGreedy, 0), one(nameBaseWarm, 0.2)}
		if s.Agents == 1 {
			return alone, nil // base-1 is chosen of these
		}
		return append(alone, EvalSystem{Name: BaseName(s.Agents), Policies: policies, Rounds: s.Rounds, Temperature: s.EvaluationTemperatures(), TopP: s.Decoding.TopP}), nil
	}
	for a := range s.Agents {
		u, _, err := store.Read[record.Update](ctx, c.Bucket, store.AgentKey(id.Run, id.Epoch, a, "update"))
		if err != nil {
			return done[[]EvalSystem](nil, err)
		}
		policies = append(policies, u.Policy.Digest)
	}
	return []EvalSystem{{Name: TrainedName(s.Agents), Policies: policies, Rounds: s.Rounds, Temperature: s.EvaluationTemperatures(), TopP: s.Decoding.TopP}}, nil
}

// Split is a split and its number of episodes.
type Split struct {
	Name     string
	Episodes int
}

// Final says what the last evaluation of a run plays.
type Final struct {
	Best   int // the epoch with the highest rate on val, ties to the earlier; 0 without epochs
	Splits []Split
	Base1  string // the decoding that was better on val
}

// PlanFinal reads val results only: a test split is read once, for the best system.
func (c *Control) PlanFinal(ctx context.Context, run string) (Final, error) {
	s, err := c.spec(ctx, run)
	if err != nil {
		return done(Final{}, err)
	}
	f := Final{Base1: nameBaseWarm, Splits: []Split{{domain.SplitTestSeeds, s.Evaluation.TestSeeds}, {domain.SplitTestTemplates, s.Evaluation.TestTemplates}}}
	greedy, err := c.val(ctx, run, 0, nameBaseGreedy)
	if err != nil {
		return done(f, err)
	}
	warm, err := c.val(ctx, run, 0, nameBaseWarm)
	if err != nil {
		return done(f, err)
	}
	if greedy.Rate >= warm.Rate {
		f.Base1 = nameBaseGreedy
	}
	top := -1.0
	for e := 1; e <= s.Epochs; e++ {
		v, err := c.val(ctx, run, e, TrainedName(s.Agents))
		if missing(err) {
			continue
		}
		if err != nil {
			return done(f, err)
		}
		if v.Rate > top {
			top, f.Best = v.Rate, e
		}
	}
	return f, nil
}

func (c *Control) val(ctx context.Context, run string, epoch int, system string) (record.Result, error) {
	v, _, err := store.Read[record.Result](ctx, c.Bucket, store.EvalKey(run, EvalID(EpochFolder(epoch), system, domain.SplitVal), "result"))
	return v, err
}

// Finish writes end.json: the table of results and the final digest.
func (c *Control) Finish(ctx context.Context, run string) (record.End, error) {
	end, _, err := store.RecordOnce(ctx, c.Bucket, store.EndKey(run), func() (record.End, error) { return c.end(ctx, run) })
	if err == nil {
		c.emit(run, map[string]any{"event": "end", "final_digest": end.FinalDigest, "results": end.Results})
	}
	return done(end, err)
}

func (c *Control) end(ctx context.Context, run string) (record.End, error) {
	s, err := c.spec(ctx, run)
	if err != nil {
		return record.End{}, err
	}
	f, err := c.PlanFinal(ctx, run)
	if err != nil {
		return record.End{}, err
	}
	e := record.End{Best: f.Best}
	base, ref, err := store.Read[record.Base](ctx, c.Bucket, store.BaseKey(run))
	if err != nil {
		return e, err
	}
	e.Epoch, e.FinalDigest = ref, base.Policy.Tensor
	if s.Epochs > 0 {
		last, ref, err := store.Read[record.Epoch](ctx, c.Bucket, store.EpochKey(run, s.Epochs))
		if err != nil {
			return e, err
		}
		e.Epoch, e.FinalDigest = ref, last.Digest
	}
	rows := []struct {
		epoch        int
		stored, name string
	}{{0, f.Base1, "base-1"}}
	if s.Agents > 1 {
		rows = append(rows, struct {
			epoch        int
			stored, name string
		}{0, BaseName(s.Agents), BaseName(s.Agents)})
	}
	if f.Best > 0 {
		rows = append(rows, struct {
			epoch        int
			stored, name string
		}{f.Best, TrainedName(s.Agents), TrainedName(s.Agents)})
	}
	for _, split := range domain.Splits[1:] {
		for _, r := range rows {
			res, _, err := store.Read[record.Result](ctx, c.Bucket, store.EvalKey(run, EvalID(EpochFolder(r.epoch), r.stored, split), "result"))
			if missing(err) {
				continue // a split of size 0
			}
			if err != nil {
				return e, err
			}
			res.System = r.name
			e.Results = append(e.Results, res)
		}
	}
	for k := range s.Epochs + 1 {
		name := TrainedName(s.Agents)
		if k == 0 {
			name = BaseName(s.Agents)
		}
		v, err := c.val(ctx, run, k, name)
		if missing(err) {
			continue // not an epoch of evaluation.every
		}
		if err != nil {
			return e, err
		}
		e.Curve = append(e.Curve, record.EvalPoint{At: k, Rate: v.Rate})
	}
	return e, nil
}
