package activities

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/method/synth"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/trainer"
)

// DemoBatch is the number of expert episodes per activity.
const DemoBatch = 40

// Batch names a range of a run's tasks.
type Batch struct {
	Run  string
	From int
	To   int // exclusive
}

// Demonstrate lets the environment's expert play training tasks and records prompt and answer of every step. A share of prompts carries messages, half of
// them wrong, because messages never seen in stage 1 hurt at first (METHOD.md section 3).
func (r *Rollouts) Demonstrate(ctx context.Context, b Batch) (int, error) {
	say, stop := heartbeat(ctx)
	defer stop()
	s, suite, err := r.where(ctx, b.Run)
	if err != nil {
		return done(0, err)
	}
	n := 0
	for i := b.From; i < b.To; i++ {
		say(fmt.Sprintf("demonstration %d", i))
		d, _, err := runs.Run(b.Run).Demonstration(i).Record(ctx, r.Bucket, func() (runs.Demonstration, error) {
			slot, err := rules.Slot(s, suite, 0, i+1, 0)
			out := runs.Demonstration{Slot: slot}
			if err == nil {
				err = inEnvironment(ctx, suite, s.Family(), func(env envadapters.Environment) (err error) {
					out.Pairs, err = r.demonstrate(ctx, s, env, slot)
					return err
				})
			}
			return out, err
		})
		if err != nil {
			return done(n, err)
		}
		n += len(d.Pairs)
	}
	return done(n, nil)
}

// where gives a run's specification and its suite.
func (r *Rollouts) where(ctx context.Context, run string) (spec.Spec, envadapters.Suite, error) {
	s, err := r.spec(ctx, run)
	if err != nil {
		return s, nil, err
	}
	suite, err := r.suite(s.Where(s.Environment))
	return s, suite, err
}

// policy is what stage 1's data are made for.
func (d *Deps) policy(s spec.Spec) (synth.Target, error) {
	t, err := rules.Template(s)
	p := synth.Target{Template: t, Share: s.FineTune.MessageShare, Agents: s.Agents}
	if s.Embedded() {
		p.Render, p.Fits = d.Render, d.Fits
	}
	return p, err
}

func (r *Rollouts) demonstrate(ctx context.Context, s spec.Spec, env envadapters.Environment, slot domain.Slot) ([]domain.Pair, error) {
	rng := domain.Rand(slot.Seed, "demonstration")
	pol, err := r.policy(s)
	if err != nil {
		return nil, err
	}
	if !demonstrates(env) {
		return nil, errNoExpert(s)
	}
	var out []domain.Pair
	_, err = r.play(ctx, s, env, slot, func(_ context.Context, v agents.View, _ []byte, n int) (string, *domain.Action, error) {
		right := helpful(env)
		if len(right) == 0 {
			return "", nil, errEnough
		}
		a := right[rng.IntN(len(right))]
		text := pol.Word(a)
		if pol.Render != nil {
			if _, err := pol.Render(a); err != nil {
				return "", nil, fault.As(fault.Invalid, err)
			}
		}
		own, peers := pol.Messages(rng, text, v.Observation)
		prompt, err := pol.Template.User(v, own, peers)
		if err != nil {
			return "", nil, err
		}
		out = append(out, domain.Pair{Slot: slot.Number, Step: n, Template: slot.Task.Template, Prompt: prompt, Chosen: text, Weight: 1, Source: "expert"})
		return text, &a, nil
	})
	return out, err
}

// errNoExpert says that nobody can demonstrate.
func errNoExpert(s spec.Spec) error {
	return fault.New(fault.Invalid, "environment %s has neither an expert nor a judge: give finetune.levels and a model as synthesis.agent, or a policy as finetune.base", s.Environment)
}

// errEnough ends an episode of stage 1: the expert knows no further.
var errEnough = errors.New("the expert knows no action")

// play is an episode of stage 1.
func (r *Rollouts) play(ctx context.Context, s spec.Spec, env envadapters.Environment, slot domain.Slot, agent uiAgent) (runs.Trajectory, error) {
	out := runs.Trajectory{Slot: slot}
	tr, err := env.Reset(ctx, slot.Task)
	if err != nil {
		return out, err
	}
	out.Goal = tr.Goal
	history := tr.History
	for n := 1; ; n++ {
		before := tr.Observation
		sc := synth.Screen{Step: n, History: slices.Clone(history), Observation: before}
		var png []byte
		if png, sc.Image, err = r.screenshot(ctx, s, env); err != nil {
			return out, err
		}
		if sc.Text, sc.Action, err = agent(ctx, agents.View{Goal: out.Goal, History: history, Observation: before}, png, n); errors.Is(err, errEnough) {
			return out, nil
		} else if err != nil {
			return out, err
		}
		if j := envadapters.Can(env).Judge; j != nil {
			sc.Right = j.Right()
		}
		a := domain.Action{Type: domain.ActionNone}
		if sc.Action != nil {
			a = *sc.Action
		}
		if tr, err = env.Step(ctx, a); err != nil {
			return out, err
		}
		if len(tr.Observation.Elements) > 0 {
			after := tr.Observation
			sc.After = &after
		}
		out.Screens = append(out.Screens, sc)
		if history, err = r.remember(ctx, s, slot.Seed, n, out.Goal, history, a, before, tr); err != nil {
			return out, err
		}
		if tr.Terminated || tr.Truncated {
			score, err := env.Score(ctx)
			out.Success = score.Success
			return out, err
		}
	}
}

func demonstrates(env envadapters.Environment) bool {
	can := envadapters.Can(env)
	return can.Judge != nil || can.Expert != nil
}

// helpful lists what a demonstration may do: all that the judge calls right, so that data do not depend on one order of free steps, or what the expert does.
func helpful(env envadapters.Environment) []domain.Action {
	can := envadapters.Can(env)
	if can.Judge != nil {
		return can.Judge.Right()
	}
	if can.Expert != nil {
		if a, ok := can.Expert.Advise(); ok {
			return []domain.Action{a}
		}
	}
	return nil
}

// ChunkID names a piece of stage 1, from 1.
type ChunkID struct {
	Run   string
	Chunk int
}

// TrainChunk continues stage 1: by one chunk of optimiser steps on demonstrations, where chunks are stations of one job, each resumed from the one before; or by one
// stage of the levels, a job of its own that starts from the policy of the stage before.
func (g *GPU) TrainChunk(ctx context.Context, id ChunkID) (runs.Chunk, error) {
	say, stop := heartbeat(ctx)
	defer stop()
	c, _, err := runs.Run(id.Run).Chunk(id.Chunk).Record(ctx, g.Bucket, func() (runs.Chunk, error) {
		s, err := g.spec(ctx, id.Run)
		if err != nil {
			return runs.Chunk{}, err
		}
		out := runs.Chunk{Number: id.Chunk}
		var job trainer.Job
		if stages := s.FineTune.LevelJobs(); len(s.FineTune.Levels) > 0 {
			job, err = g.stage(ctx, s, id, stages[id.Chunk-1], &out)
		} else {
			job, err = g.demonstrations(ctx, s, id)
		}
		if err != nil {
			return out, err
		}
		job.Workers = g.Threads
		got, err := g.train(ctx, s, job, say)
		if err != nil {
			return out, err
		}
		if got.Diverged != "" {
			return out, fault.New(fault.Fatal, "stage 1 diverged: %s", got.Diverged)
		}
		out.Steps, out.Skipped = out.Steps+got.Steps, got.Skipped
		out.Policy, out.Report = runs.Policy{Digest: got.Digest, Tensor: got.TensorDigest}, got.Report
		if n := len(got.Curve); n > 0 {
			out.Loss = got.Curve[n-1].Loss
		}
		return out, nil
	})
	if err == nil {
		err = g.publish(ctx, id.Run, c.Policy.Digest)
	}
	return done(c, err)
}

// demonstrations is the job of the chunks.
func (g *GPU) demonstrations(ctx context.Context, s spec.Spec, id ChunkID) (trainer.Job, error) {
	demos := make([][]domain.Pair, s.FineTune.Demonstrations)
	if err := parallel(ctx, len(demos), 8, func(ctx context.Context, i int) error {
		d, _, err := runs.Run(id.Run).Demonstration(i).Read(ctx, g.Bucket)
		demos[i] = d.Pairs
		return err
	}); err != nil {
		return trainer.Job{}, err
	}
	pairs := slices.Concat(demos...)
	credit.BalanceActions(pairs)
	return trainer.Job{ID: runs.Run(id.Run).FineTuneJob(), Objective: trainer.SFT, Pairs: pairs, Params: s.FineTune.Train, Seed: domain.Seed(s.Seed, "finetune"),
		Until: id.Chunk * s.FineTune.ChunkSteps, Every: s.FineTune.ChunkSteps}, nil
}

// stage is the job of one stage of the levels.
func (g *GPU) stage(ctx context.Context, s spec.Spec, id ChunkID, st spec.LevelJob, out *runs.Chunk) (trainer.Job, error) {
	start, before, err := g.before(ctx, s, id)
	if err != nil {
		return trainer.Job{}, err
	}
	set, ref, err := runs.Run(id.Run).Level(st.Level).Read(ctx, g.Bucket)
	if err != nil {
		return trainer.Job{}, err
	}
	pairs, err := runs.ReadPairs(ctx, g.Bucket, set.Body)
	if err != nil {
		return trainer.Job{}, err
	}
	out.Stage, out.Level, out.Steps = st.Name(), &ref, before
	job := trainer.Job{ID: runs.Run(id.Run).StageJob(id.Chunk), Start: start, Objective: trainer.SFT, Params: s.FineTune.Train, Seed: domain.Seed(s.Seed, "finetune", id.Chunk), Steps: st.Steps}
	if st.Preference {
		job.Objective, job.Reference, job.Params = trainer.DPO, start, s.FineTune.Preference
		pairs = slices.DeleteFunc(pairs, func(p domain.Pair) bool { return p.Rejected == "" })
		credit.Balance(pairs)
	} else {
		credit.BalanceActions(pairs)
	}
	if len(pairs) == 0 {
		return job, fault.New(fault.Invalid, "stage 1, %s: the data set of level %d holds nothing to train on; its card says why: `collabui data %s`", st.Name(), st.Level, id.Run)
	}
	tmpl, err := rules.Template(s)
	if err != nil {
		return job, err
	}
	job.Pairs, job.System = pairs, synth.SystemOf(pairs, tmpl.System())
	return job, nil
}

// before gives the policy that a stage starts from, and the optimiser steps made before it; "" is a new policy.
func (d *Deps) before(ctx context.Context, s spec.Spec, id ChunkID) (policy string, steps int, err error) {
	if id.Chunk == 1 && s.FineTune.Base == domain.UntrainedBase {
		return "", 0, nil // of a trainer of language models: its base model
	}
	if id.Chunk == 1 {
		return s.FineTune.Base, 0, nil
	}
	c, _, err := runs.Run(id.Run).Chunk(id.Chunk-1).Read(ctx, d.Bucket)
	return c.Policy.Digest, c.Steps, err
}
