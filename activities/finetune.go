package activities

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/internal/credit"
	"github.com/collabui/collabui/internal/fault"
	"github.com/collabui/collabui/internal/record"
	"github.com/collabui/collabui/internal/spec"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/system"
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
	s, err := r.spec(ctx, b.Run)
	if err != nil {
		return done(0, err)
	}
	suite, err := r.suite(s.Environment)
	if err != nil {
		return done(0, err)
	}
	n := 0
	for i := b.From; i < b.To; i++ {
		say(fmt.Sprintf("demonstration %d", i))
		d, _, err := store.RecordOnce(ctx, r.Bucket, store.FineTuneKey(b.Run, "demonstrations", i), func() (record.Demonstration, error) {
			slot, err := drawSlot(s, suite, 0, i+1, 0)
			out := record.Demonstration{Slot: slot}
			if err == nil {
				err = inEnvironment(ctx, suite, func(env envadapters.Environment) (err error) {
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

func (r *Rollouts) demonstrate(ctx context.Context, s spec.Spec, env envadapters.Environment, slot domain.Slot) ([]domain.Pair, error) {
	if !demonstrates(env) {
		return nil, fault.New(fault.Invalid, "environment %q has neither an expert nor a judge", s.Environment)
	}
	rng := domain.Rand(slot.Seed, "demonstration")
	tr, err := env.Reset(ctx, slot.Task)
	if err != nil {
		return nil, err
	}
	goal, history, out := tr.Goal, []string(nil), []domain.Pair(nil)
	for n := 1; ; n++ {
		right := helpful(env)
		if len(right) == 0 {
			return out, nil
		}
		a := right[rng.IntN(len(right))]
		text, err := r.Render(a)
		if err != nil {
			return nil, fault.As(fault.Invalid, err)
		}
		own, peers := r.messages(s, rng, text, tr.Observation)
		v := system.View{Goal: goal, History: history, Observation: tr.Observation}
		out = append(out, domain.Pair{Slot: slot.Number, Step: n, Template: slot.Task.Template, Prompt: system.Prompt(v, own, peers), Chosen: text, Weight: 1, Source: "expert"})
		before := tr.Observation
		if tr, err = env.Step(ctx, a); err != nil {
			return nil, err
		}
		history = append(history, system.Summarise(n, a, before, tr.Invalid))
		if tr.Terminated || tr.Truncated {
			return out, nil
		}
	}
}

func demonstrates(env envadapters.Environment) bool {
	_, judge := env.(envadapters.Judge)
	_, expert := env.(envadapters.Expert)
	return judge || expert
}

// helpful lists what a demonstration may do: all that the judge calls right, so that data do not depend on one order of free steps, or what the expert does.
func helpful(env envadapters.Environment) []domain.Action {
	if j, ok := env.(envadapters.Judge); ok {
		return j.Right()
	}
	if a, ok := env.(envadapters.Expert).Advise(); ok {
		return []domain.Action{a}
	}
	return nil
}

// messages makes up own and peers' words for a share of prompts; half of them are wrong.
func (r *Rollouts) messages(s spec.Spec, rng *rand.Rand, right string, o domain.Observation) (own string, peers []system.Message) {
	if rng.Float64() >= s.FineTune.MessageShare {
		return "", nil
	}
	word := func() string {
		if rng.Float64() < 0.5 {
			return right
		}
		return r.wrong(rng, o)
	}
	if rng.Float64() < 0.6 {
		own = word()
	}
	for p := range rng.IntN(s.Agents) {
		peers = append(peers, system.Message{Agent: p, Text: word()})
	}
	return own, peers
}

// wrong is a random answer; now and then it is right by chance, as a peer's may be.
func (r *Rollouts) wrong(rng *rand.Rand, o domain.Observation) string {
	var shown []int
	for _, e := range o.Elements {
		if e.Shown() {
			shown = append(shown, e.Index)
		}
	}
	a := domain.Action{Type: domain.ActionStatus, GoalStatus: domain.StatusComplete}
	if len(shown) > 0 && rng.Float64() < 0.8 {
		a = domain.Action{Type: domain.ActionClick}.At(shown[rng.IntN(len(shown))])
	}
	text, err := r.Render(a)
	if err != nil {
		return ""
	}
	return text
}

// ChunkID names a piece of stage 1, from 1.
type ChunkID struct {
	Run   string
	Chunk int
}

// TrainChunk continues stage 1 by one chunk of optimiser steps. The chunks are stations of one job, each resumed from the one before.
func (g *GPU) TrainChunk(ctx context.Context, id ChunkID) (record.Chunk, error) {
	say, stop := heartbeat(ctx)
	defer stop()
	c, _, err := store.RecordOnce(ctx, g.Bucket, store.FineTuneKey(id.Run, "chunks", id.Chunk), func() (record.Chunk, error) {
		s, err := g.spec(ctx, id.Run)
		if err != nil {
			return record.Chunk{}, err
		}
		demos := make([][]domain.Pair, s.FineTune.Demonstrations)
		if err := parallel(ctx, len(demos), 8, func(ctx context.Context, i int) error {
			d, _, err := store.Read[record.Demonstration](ctx, g.Bucket, store.FineTuneKey(id.Run, "demonstrations", i))
			demos[i] = d.Pairs
			return err
		}); err != nil {
			return record.Chunk{}, err
		}
		pairs := slices.Concat(demos...)
		credit.BalanceActions(pairs)
		steps := id.Chunk * s.FineTune.ChunkSteps
		job := trainer.Job{ID: store.RunPrefix(id.Run) + "finetune/job", Objective: trainer.SFT, Pairs: pairs, Params: s.FineTune.Train, Seed: domain.Seed(s.Seed, "finetune"),
			Workers: g.Threads, Until: steps, Every: s.FineTune.ChunkSteps}
		got, err := g.Trainer.Train(ctx, job, func(p trainer.Point) { say(fmt.Sprintf("step %d, loss %.3f", p.Step, p.Loss)) })
		if err != nil {
			return record.Chunk{}, err
		}
		if got.Diverged != "" {
			return record.Chunk{}, fault.New(fault.Fatal, "stage 1 diverged: %s", got.Diverged)
		}
		return record.Chunk{Number: id.Chunk, Steps: got.Steps, Policy: record.Policy{Digest: got.Digest, Tensor: got.TensorDigest}, Loss: got.Curve[len(got.Curve)-1].Loss}, nil
	})
	if err == nil {
		err = g.Load(ctx, c.Policy.Digest)
	}
	return done(c, err)
}

// BaseChoice is the end of stage 1 as the workflow saw it.
type BaseChoice struct {
	Run   string
	Chunk int
	Why   string
	Curve []record.EvalPoint
}

// CommitBase writes base.json.
func (c *Control) CommitBase(ctx context.Context, b BaseChoice) (record.Policy, error) {
	base, _, err := store.RecordOnce(ctx, c.Bucket, store.BaseKey(b.Run), func() (record.Base, error) {
		s, err := c.spec(ctx, b.Run)
		if err != nil {
			return record.Base{}, err
		}
		chunk, ref, err := store.Read[record.Chunk](ctx, c.Bucket, store.FineTuneKey(b.Run, "chunks", b.Chunk))
		rate := b.Curve[len(b.Curve)-1].Rate
		return record.Base{Policy: chunk.Policy, Chunk: ref, Curve: b.Curve, InBand: rate >= s.FineTune.StopLow && rate <= s.FineTune.StopHigh, StoppedBy: b.Why}, err
	})
	if err != nil {
		return done(base.Policy, err)
	}
	c.emit(b.Run, map[string]any{"event": "base", "policy": base.Policy.Digest, "in_band": base.InBand, "stopped_by": base.StoppedBy})
	return done(base.Policy, err)
}
