package activities

import (
	"context"
	"errors"
	"fmt"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/episode"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/observe/events"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// attempt is one try at a slot.
type attempt struct {
	*Rollouts
	id       SlotID
	own      own
	spec     spec.Spec
	suite    envadapters.Suite
	planned  domain.Slot
	slot     domain.Slot // planned, or a replacement
	decoding agents.Config
	version  int       // version of the system
	topology store.Ref // the epoch's topology
	number   int       // from 1
	replaced int       // tasks at fault so far
	fresh    bool      // no step of the attempt can be recorded; until its first environment begins
	voids    int       // attempts that infrastructure voided in this execution
	why      string    // why the newest attempt was void
	last     runs.Step // the newest that was played here
	lastRef  store.Ref
	say      say
}

// attempt prepares the first attempt at a slot.
func (r *Rollouts) attempt(
	ctx context.Context, id SlotID, s spec.Spec, suite envadapters.Suite, say say,
) (*attempt, error) {
	own, err := r.own(ctx, id.Run)
	if err != nil {
		return nil, err
	}
	p, err := r.plan(ctx, id.Run, id.Epoch)
	if err := own.check(runs.Run(id.Run).Slots(id.Epoch).Key, p.slots.By, err); err != nil {
		return nil, err
	}
	if err := r.sameAs(ctx, s, id.Epoch, suite); err != nil {
		return nil, err
	}
	decoding, err := rules.Decoding(s, p.slots.System.Digests(), p.topology)
	decoding.Template = rules.Bound(s, decoding.Template, r.Wording.Over)

	return &attempt{
		Rollouts: r, id: id, own: own, spec: s, suite: suite, decoding: decoding,
		planned: p.slots.Slots[id.Slot-1], slot: p.slots.Slots[id.Slot-1],
		version: p.slots.System.Version, topology: p.ref, number: 1, say: say,
	}, err
}

// untilDone plays attempts until one is not void. A task at fault is replaced by one that was drawn in advance, and a
// slot without a task that can be played has failed. Infrastructure never fails a slot: after some attempts that it
// voided, untilDone returns a transient fault, and whoever tries again goes on with the next attempt.
func (a *attempt) untilDone(ctx context.Context) (runs.Episode, error) {
	for ; ; a.number++ {
		e, err := a.play(ctx)
		if err != nil {
			return e, err
		}
		switch {
		case e.Failed != "":
			// A person may have begun the next attempt: see runs.Run.Retry.
			again, err := runs.Run(a.id.Run).Again(ctx, a.Bucket, a.id.Epoch, a.id.Slot, a.number)
			if err != nil || !again {
				return e, err
			}
			a.slot, a.replaced, a.voids = a.planned, 0, 0
		case e.Void == "":
			return e, nil
		case e.TaskBad:
			a.replaced++
			if a.slot, err = rules.Slot(a.spec, a.suite, a.id.Epoch, a.id.Slot, a.replaced); err != nil {
				return e, err
			}
		case a.voids >= maxVoids:
			return e, fault.New(fault.Transient, "slot %d of epoch %d: %d attempts in a row were void: %s "+
				"(if the task can never be played: collabui resume %s --skip %[2]d/%[1]d --why TEXT)",
				a.id.Slot, a.id.Epoch, a.voids, e.Void, a.id.Run)
		}
		a.why = e.Void
		a.Emit.send(a.id.Run, events.Void{Epoch: a.id.Epoch, Slot: a.id.Slot, Attempt: a.number, Why: e.Void})
	}
}

// These errors void an attempt: it cannot continue from what is recorded.
var (
	errDiverged  = errors.New("the replay of recorded actions showed another screen")
	errNoReplays = errors.New("the environment broke, and it cannot be brought back to where it was")
)

// play claims the attempt and plays it to its recorded end. A broken environment is replaced, and the episode resumes
// by replay. What voids the attempt is recorded as its end; other errors are returned.
func (a *attempt) play(ctx context.Context) (runs.Episode, error) {
	run := runs.Run(a.id.Run)
	end := run.Attempt(a.id.Epoch, a.id.Slot, a.number)
	// A person may leave out an attempt before it begins. No fork shares one that has not ended.
	if e, ended, err := store.May[runs.Episode](ctx, a.Bucket, end.Key); err != nil || ended {
		return e, a.own.check(end.Key, e.By, err)
	}

	claim := run.Start(a.id.Epoch, a.id.Slot, a.number)
	start, _, fresh, err := claim.Write(ctx, a.Bucket, runs.Start{By: a.own.By, Slot: a.slot, Attempt: a.number})
	if err := a.own.check(claim.Key, start.By, err); err != nil {
		return runs.Episode{}, err
	}
	a.slot, a.fresh = start.Slot, fresh

	e := runs.Episode{Failed: fmt.Sprintf("%d tasks in a row were at fault, the last because %s", a.replaced, a.why)}
	if a.replaced <= maxReplacements {
		e, err = a.episode(ctx)
		switch {
		case voids(err):
			e = runs.Episode{Void: err.Error(), TaskBad: errors.Is(err, envadapters.ErrTask)}
		case fault.KindOf(err) == fault.Refused:
			e = runs.Episode{Failed: err.Error()}
		case err != nil:
			return runs.Episode{}, err
		}
	}
	if e.Void != "" && !e.TaskBad {
		a.voids++
	}

	e.By, e.Slot, e.Attempt, e.System, e.Topology = a.own.By, a.slot, a.number, a.version, a.topology
	e, _, _, err = end.Write(ctx, a.Bucket, e)

	return e, a.own.check(end.Key, e.By, err)
}

func voids(err error) bool {
	return errors.Is(err, envadapters.ErrTask) || errors.Is(err, errDiverged) || errors.Is(err, errNoReplays)
}

// episode plays the episode, in another environment if one breaks.
func (a *attempt) episode(ctx context.Context) (e runs.Episode, err error) {
	err = a.in(ctx, a.id.Run, a.suite, a.spec.Family(), func(env envadapters.Environment) error {
		e = runs.Episode{}
		var steps []runs.Step
		fresh := a.fresh
		a.fresh = false // another environment goes on with the steps that are recorded by then
		part := a.Metrics.Parts()
		player := episode.Player{
			Begin: func(ctx context.Context, _ envadapters.Transition) error {
				part("reset")

				return a.begin(ctx, env)
			},
			Decide: func(ctx context.Context, t episode.Turn) (domain.Action, error) {
				if t.Number > 1 {
					part("execute") // the action, and what follows it
				}
				step, ref, err := a.step(ctx, env, t, part, fresh)
				steps, e.Steps = append(steps, step), append(e.Steps, ref)
				part("record")

				return step.Decision.Executed, err
			},
			Summarise: summarise(a.Endpoints, a.spec, a.slot.Seed),
		}
		played, err := player.Play(ctx, env, a.slot.Task)
		e.Goal, e.Outcome, e.Digest = played.Goal, played.Outcome, runs.StepsDigest(steps)
		for _, s := range steps {
			e.Outcome.Cut += s.Decision.Cut()
			e.Outcome.Refused += s.Decision.Refused()
			e.Outcome.Repaired += s.Decision.Repaired()
		}
		if err == nil {
			e.End, err = a.end(ctx, a.spec, env, played)
		}

		return err
	})

	return e, err
}

// graded refuses an environment without the judge that a specification relies on.
func graded(s spec.Spec, env envadapters.Environment) error {
	if s.Credit == spec.CreditCritic && s.Critic.Model == spec.RoleOracle && envadapters.Can(env).Judge == nil {
		return fault.New(fault.Invalid,
			"environment %s has no judge, so the critic cannot be %q: name a model as critic.model, "+
				"or use credit: outcome",
			s.Environment, spec.RoleOracle)
	}

	return nil
}

// begin refuses an environment in which the episode cannot be graded, or cannot resume.
func (a *attempt) begin(ctx context.Context, env envadapters.Environment) error {
	if err := graded(a.spec, env); err != nil {
		return err
	}
	if envadapters.Can(env).Replayable {
		return nil
	}

	begun, err := runs.Run(a.id.Run).Step(a.id.Epoch, a.id.Slot, a.number, 1).Exists(ctx, a.Bucket)
	if err == nil && begun {
		err = fault.New(fault.Fatal, "slot %d: %w", a.id.Slot, errNoReplays)
	}

	return err
}

// step returns the recorded decision of a turn, or decides and records it. Of a fresh attempt, none is recorded. It
// tells part what it has done.
func (a *attempt) step(
	ctx context.Context, env envadapters.Environment, t episode.Turn, part func(string), fresh bool,
) (runs.Step, store.Ref, error) {
	seen := runs.Digest(t.Observation)
	object := runs.Run(a.id.Run).Step(a.id.Epoch, a.id.Slot, a.number, t.Number)
	image, err := a.picture(ctx, a.spec, env) // also of a replay: the page's clock runs as far
	if err != nil {
		return runs.Step{}, store.Ref{}, err
	}
	part("screenshot")
	decide := func() (runs.Step, error) {
		d, err := agents.Decide(ctx, steadily(a.Policies, env, a.say), a.decoding, t.View(),
			domain.Seed(a.slot.Seed, "step", t.Number))
		part("decide")

		return runs.Step{By: a.own.By, ObservationDigest: seen, Image: image, Touch: t.Touch, Step: domain.Step{
			Number: t.Number, Goal: t.Goal, History: t.History, Observation: t.Observation,
			Decision: d, Right: episode.Right(env),
		}}, err
	}
	step, ref, err := a.record(ctx, object, decide, fresh)
	err = a.own.check(object.Key, step.By, err)
	if fault.KindOf(err) == fault.Refused {
		err = fault.New(fault.Refused, "step %d: %w", t.Number, err)
	}
	if err == nil && step.ObservationDigest != seen {
		err = fault.New(fault.Fatal, "slot %d, step %d: %w", a.id.Slot, t.Number, errDiverged)
	}
	if err != nil {
		return step, ref, err
	}

	a.last, a.lastRef = step, ref
	a.say(fmt.Sprintf("attempt %d, step %d: %s", a.number, t.Number, step.Decision.Executed.Type))

	return step, ref, nil
}

// record records what decide returns, unless the step is recorded.
func (a *attempt) record(
	ctx context.Context, object runs.Object[runs.Step], decide func() (runs.Step, error), fresh bool,
) (runs.Step, store.Ref, error) {
	if !fresh {
		return object.Record(ctx, a.Bucket, decide)
	}
	step, err := decide()
	if err != nil {
		return step, store.Ref{}, err
	}
	step, ref, _, err := object.Write(ctx, a.Bucket, step)

	return step, ref, err
}
