package activities

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/process/events"
	"github.com/collabui/collabui/internal/process/failpoint"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
)

// Rollouts play episodes in environments.
type Rollouts struct{ *Deps }

// SlotID names a slot of a run.
type SlotID struct {
	Run   string
	Epoch int
	Slot  int
}

// Played is an episode in a few figures.
type Played struct {
	Attempt int
	Steps   int
	Success bool
	Failed  string
	Host    string // that ended it
}

// Limits of one slot.
const (
	maxAttempts     = 8 // void attempts before the slot counts as failed
	maxReplacements = 3 // tasks at fault before the slot counts as failed
	maxReopens      = 5 // environments that may break under one episode before the activity gives up and is retried elsewhere
)

// Rollout plays one slot to its end and records every decision before it is executed. A second run adopts what is recorded: it replays the recorded
// actions, compares what it sees, and goes on from there; recorded model calls are not made again.
func (r *Rollouts) Rollout(ctx context.Context, id SlotID) (Played, error) {
	say, stop := heartbeat(ctx)
	defer stop()
	p, err := r.rollout(ctx, id, say)
	p.Host = hostname()
	if err == nil {
		r.figures(ctx, id.Run)
		r.emit(id.Run, events.Episode{Epoch: id.Epoch, Slot: id.Slot, Success: p.Success, Steps: p.Steps})
	}
	return done(p, err)
}

// figures tells the live stream how the run's environment is, where it says so.
func (r *Rollouts) figures(ctx context.Context, run string) {
	if _, suite, err := r.where(ctx, run); err == nil {
		if m, ok := suite.(envadapters.Metered); ok {
			r.emit(run, events.Environment{Suite: suite.Name(), Figures: m.Figures()})
		}
	}
}

func (r *Rollouts) rollout(ctx context.Context, id SlotID, say func(string)) (Played, error) {
	s, err := r.spec(ctx, id.Run)
	if err != nil {
		return Played{}, err
	}
	suite, err := r.suite(s.Where(s.Environment))
	if err != nil {
		return Played{}, err
	}
	slots, _, err := runs.Run(id.Run).Slots(id.Epoch).Read(ctx, r.Bucket)
	if err != nil {
		return Played{}, err
	}
	topo, topoRef, err := runs.Run(id.Run).Topology(id.Epoch).Read(ctx, r.Bucket)
	if err != nil {
		return Played{}, err
	}
	a := &attempt{Rollouts: r, id: id, spec: s, suite: suite, slot: slots.Slots[id.Slot-1], version: slots.System.Version, topoRef: topoRef, say: say}
	if a.conf, err = rules.Decoding(s, slots.System.Digests(), topo); err != nil {
		return Played{}, err
	}
	for {
		a.number++
		ep, err := a.play(ctx)
		if err != nil {
			return Played{}, err
		}
		if ep.Void == "" {
			return Played{Attempt: a.number, Steps: ep.Outcome.Steps, Success: ep.Outcome.Success, Failed: ep.Failed}, nil
		}
		if ep.TaskBad {
			a.replaced++
			if a.slot, err = rules.Slot(s, suite, id.Epoch, id.Slot, a.replaced); err != nil {
				return Played{}, err
			}
		}
	}
}

// attempt is one try at a slot.
type attempt struct {
	*Rollouts
	id       SlotID
	spec     spec.Spec
	suite    envadapters.Suite
	slot     domain.Slot
	conf     agents.Config
	version  int
	topoRef  store.Ref
	number   int
	replaced int
	say      func(string)
}

// Why an attempt cannot go on from what is recorded.
var (
	errDiverged  = errors.New("the replay of recorded actions showed another screen")
	errNoReplays = errors.New("the environment broke, and it cannot be brought back to where it was")
)

// play claims the attempt and plays it to its recorded end; a broken environment is replaced and the episode resumes by replay. What voids the attempt
// is recorded as its end, other errors go on to the caller.
func (a *attempt) play(ctx context.Context) (runs.Episode, error) {
	if e, _, err := runs.Run(a.id.Run).Attempt(a.id.Epoch, a.id.Slot, a.number).Read(ctx, a.Bucket); !errors.Is(err, store.ErrNotFound) {
		return e, err
	}
	if _, _, err := runs.Run(a.id.Run).Start(a.id.Epoch, a.id.Slot, a.number).Record(ctx, a.Bucket, func() (runs.Start, error) {
		return runs.Start{Slot: a.slot, Attempt: a.number}, nil
	}); err != nil {
		return runs.Episode{}, err
	}
	if a.number > maxAttempts || a.replaced > maxReplacements {
		return a.finish(ctx, runs.Episode{Failed: fmt.Sprintf("%d attempts were void", a.number-1)})
	}
	var e runs.Episode
	if err := inEnvironment(ctx, a.suite, a.spec.Family(), func(env envadapters.Environment) (err error) {
		e, err = a.once(ctx, env)
		return err
	}); err != nil {
		if !errors.Is(err, envadapters.ErrTask) && !errors.Is(err, errDiverged) && !errors.Is(err, errNoReplays) {
			return runs.Episode{}, err
		}
		e = runs.Episode{Void: err.Error(), TaskBad: errors.Is(err, envadapters.ErrTask)}
	}
	return a.finish(ctx, e)
}

// inEnvironment runs f in an environment of its own, for agents of an action family, and again in a new one when it broke: f must begin with Reset.
func inEnvironment(ctx context.Context, suite envadapters.Suite, agents domain.Family, f func(envadapters.Environment) error) error {
	var err error
	for try := range maxReopens {
		var env envadapters.Environment
		if env, err = suite.Open(ctx); err != nil {
			return err
		}
		err = f(envadapters.Speaking(env, suite.Family(), agents))
		env.Close(context.WithoutCancel(ctx))
		if err == nil || fault.KindOf(err) != fault.Void || ctx.Err() != nil {
			return err
		}
		time.Sleep(time.Duration(try) * 100 * time.Millisecond)
	}
	return err
}

func (a *attempt) finish(ctx context.Context, e runs.Episode) (runs.Episode, error) {
	e, _, err := runs.Run(a.id.Run).Attempt(a.id.Epoch, a.id.Slot, a.number).Record(ctx, a.Bucket, func() (runs.Episode, error) {
		e.Slot, e.Attempt, e.System, e.Topology = a.slot, a.number, a.version, a.topoRef
		return e, nil
	})
	return e, err
}

// once plays the episode in one environment, from its reset.
func (a *attempt) once(ctx context.Context, env envadapters.Environment) (runs.Episode, error) {
	tr, err := env.Reset(ctx, a.slot.Task)
	if err != nil {
		return runs.Episode{}, err
	}
	can := envadapters.Can(env)
	if a.spec.Credit == spec.CreditCritic && a.spec.Critic.Model == spec.RoleOracle && can.Judge == nil {
		return runs.Episode{}, fault.New(fault.Invalid, "environment %s has no judge, so nobody can be the critic %q: name a model as critic.model, or use credit: outcome", a.spec.Environment, spec.RoleOracle)
	}
	if !can.Replayable {
		_, _, err := runs.Run(a.id.Run).Step(a.id.Epoch, a.id.Slot, a.number, 1).Read(ctx, a.Bucket)
		if err == nil {
			return runs.Episode{}, fault.New(fault.Fatal, "slot %d: %w", a.id.Slot, errNoReplays)
		}
		if !missing(err) {
			return runs.Episode{}, err
		}
	}
	e := runs.Episode{Goal: tr.Goal}
	var steps []runs.Step
	history := tr.History
	for n := 1; ; n++ {
		step, ref, err := a.step(ctx, env, n, e.Goal, history, tr.Observation)
		if err != nil {
			return e, err
		}
		failpoint.Hit("rollout")
		steps, e.Steps = append(steps, step), append(e.Steps, ref)
		a.say(fmt.Sprintf("attempt %d, step %d: %s", a.number, n, step.Decision.Executed.Type))
		before := tr.Observation
		if tr, err = env.Step(ctx, step.Decision.Executed); err != nil {
			return e, err
		}
		invalid := NothingDone(step.Decision, tr.Invalid)
		tr.Invalid = invalid
		if history, err = a.remember(ctx, a.spec, a.slot.Seed, n, e.Goal, history, step.Decision.Executed, before, tr); err != nil {
			return e, err
		}
		if invalid != "" {
			e.Outcome.Invalid++
		}
		if tr.Terminated || tr.Truncated {
			break
		}
	}
	score, err := env.Score(ctx)
	if err != nil {
		return e, err
	}
	e.Outcome.Success, e.Outcome.Truncated, e.Outcome.Steps, e.Outcome.Metrics = score.Success, tr.Truncated, len(steps), score.Metrics
	e.Digest = runs.StepsDigest(steps)
	return e, nil
}

// NothingDone says why a step executed nothing: the environment's word, or that no answer parsed; empty if something was executed.
func NothingDone(d domain.Decision, invalid string) string {
	if invalid == "" && d.Executed.Type == domain.ActionNone {
		return "no answer parsed"
	}
	return invalid
}

// step gives the recorded decision of a step, or decides and records it.
func (a *attempt) step(ctx context.Context, env envadapters.Environment, n int, goal string, history []string, o domain.Observation) (runs.Step, store.Ref, error) {
	digest := runs.Digest(o)
	st, ref, err := runs.Run(a.id.Run).Step(a.id.Epoch, a.id.Slot, a.number, n).Record(ctx, a.Bucket, func() (runs.Step, error) {
		d, err := agents.Decide(ctx, a.Chat, a.conf, agents.View{Goal: goal, History: history, Observation: o}, domain.Seed(a.slot.Seed, "step", n))
		if err != nil {
			return runs.Step{}, err
		}
		st := runs.Step{ObservationDigest: digest, Step: domain.Step{Number: n, Goal: goal, History: history, Observation: o, Decision: d}}
		if j := envadapters.Can(env).Judge; j != nil {
			st.Right = j.Right()
		}
		return st, nil
	})
	if err == nil && st.ObservationDigest != digest {
		return st, ref, fault.New(fault.Fatal, "slot %d, step %d: %w", a.id.Slot, n, errDiverged)
	}
	return st, ref, err
}
