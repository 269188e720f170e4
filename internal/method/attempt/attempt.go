// Package attempt plays a slot of an epoch until an attempt at it counts. An attempt that cannot continue is void, and
// the next one follows. A task at fault is replaced by one that was drawn in advance, and a slot without a task that
// can be played has failed. What an earlier execution recorded is adopted: its actions are replayed, what the
// environment shows is compared, and the episode continues from there.
//
// It links no browser driver. It links no Temporal.
package attempt

import (
	"context"
	"errors"
	"fmt"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/episode"
	"github.com/collabui/collabui/internal/method/picture"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// maxVoids is the number of attempts that infrastructure may void before Play returns, to be called again later.
const maxVoids = 8

// Slot is a planned slot of an epoch, with what the epoch fixes for all of its slots.
type Slot struct {
	Run      string
	Epoch    int
	Number   int // of the slot, from 1
	Planned  domain.Slot
	Spec     spec.Spec
	Suite    envadapters.Suite
	Decoding agents.Config
	Version  int       // of the system
	Topology store.Ref // of the epoch
}

// Journal records the attempts at a slot. Its methods may be called repeatedly and concurrently: the first record
// stands.
type Journal interface {
	// Ended returns the end of an attempt, and reports whether it is recorded.
	Ended(ctx context.Context, attempt int) (e runs.Episode, ended bool, err error)

	// Begin claims an attempt. It returns the claim that stands, and reports whether it is the one of this call.
	Begin(ctx context.Context, claim runs.Start) (standing runs.Start, first bool, err error)

	// Decided reports whether a step of an attempt is recorded.
	Decided(ctx context.Context, attempt, step int) (bool, error)

	// Step returns the record of a step, or records what decide returns. If fresh, the step cannot be recorded, and
	// decide is called at once.
	Step(
		ctx context.Context, attempt, step int, fresh bool, decide func() (runs.Step, error),
	) (runs.Step, store.Ref, error)

	// End records the end of an attempt, and returns the record that stands.
	End(ctx context.Context, e runs.Episode) (runs.Episode, error)

	// Again reports whether a person began the next attempt after one that failed: see runs.Run.Retry.
	Again(ctx context.Context, attempt int) (bool, error)
}

// Camera takes pictures of an environment.
type Camera interface {
	episode.Camera

	// Screenshot keeps the present screen for people and returns its blob, or nil if screenshots are not kept.
	Screenshot(ctx context.Context) (*store.Ref, error)

	// Last keeps the screen after the last step, or returns nil if it shows nothing.
	Last(ctx context.Context, played episode.Played) (*runs.Screen, error)
}

// Player plays a slot. All of its fields are required.
type Player struct {
	Slot
	Journal Journal

	// Open calls play with an environment, and again with another one if that breaks.
	Open func(ctx context.Context, play func(envadapters.Environment) error) error

	// Model returns the model that answers for the policies during the episodes of an environment.
	Model func(envadapters.Environment) chat.Model

	// Summarise returns episode.Player.Summarise for the seed of a slot.
	Summarise func(seed uint64) func(context.Context, episode.Executed) (string, error)

	// Camera returns the camera of an environment.
	Camera func(envadapters.Environment) Camera

	// Voided is called after every attempt that does not count, with the reason.
	Voided func(attempt int, why string)

	// Measure is called when an environment begins the episode. It returns what is called after each part of a step.
	Measure func() (part func(name string))

	// Progress is called with the newest progress in a few words.
	Progress func(line string)
}

// Played is the episode that counts.
type Played struct {
	Episode runs.Episode
	Attempt int // its number, from 1

	Last    runs.Step // the newest step that this call played
	LastRef store.Ref
}

// slotState is a slot while it is played.
type slotState struct {
	Player
	task     domain.Slot // planned, or a replacement
	attempt  int         // its number, from 1
	replaced int         // tasks at fault so far
	voids    int         // attempts that infrastructure voided in this execution
	why      string      // why the newest attempt was void
	fresh    bool        // no step of the attempt can be recorded; until its first environment begins
	last     runs.Step
	lastRef  store.Ref
}

// Play plays attempts until one counts. Infrastructure never fails a slot: after some attempts that it voided, Play
// returns a transient fault, and the next call continues with the next attempt.
func (p Player) Play(ctx context.Context) (Played, error) {
	state := &slotState{Player: p, task: p.Planned, attempt: 1}
	e, err := state.untilDone(ctx)

	return Played{Episode: e, Attempt: state.attempt, Last: state.last, LastRef: state.lastRef}, err
}

// untilDone plays attempts until one is not void.
func (a *slotState) untilDone(ctx context.Context) (runs.Episode, error) {
	for ; ; a.attempt++ {
		e, err := a.play(ctx)
		if err != nil {
			return e, err
		}
		switch {
		case e.Failed != "":
			again, err := a.Journal.Again(ctx, a.attempt)
			if err != nil || !again {
				return e, err
			}
			a.task = a.Planned
			a.replaced = 0
			a.voids = 0
		case e.Void == "":
			return e, nil
		case e.TaskBad:
			a.replaced++
			a.task, err = rules.Slot(a.Spec, a.Suite, a.Epoch, a.Number, a.replaced)
			if err != nil {
				return e, err
			}
		case a.voids >= maxVoids:
			return e, fault.New(fault.Transient, "slot %d of epoch %d: %d attempts in a row were void: %s "+
				"(if the task can never be played: `collabui resume %s --skip %[2]d/%[1]d --why TEXT`)",
				a.Number, a.Epoch, a.voids, e.Void, a.Run)
		}
		a.why = e.Void
		a.Voided(a.attempt, e.Void)
	}
}

// These errors void an attempt: it cannot continue from what is recorded.
var (
	errDiverged  = errors.New("the replay of recorded actions showed another screen")
	errNoReplays = errors.New("the environment broke, and it cannot be brought back to where it was")
)

// play claims the attempt and plays it to its recorded end. What voids the attempt is recorded as its end; other errors
// are returned.
func (a *slotState) play(ctx context.Context) (runs.Episode, error) {
	// A person may leave out an attempt before it begins. No fork shares one that has not ended.
	if e, ended, err := a.Journal.Ended(ctx, a.attempt); err != nil || ended {
		return e, err
	}
	claim, first, err := a.Journal.Begin(ctx, runs.Start{Slot: a.task, Attempt: a.attempt})
	if err != nil {
		return runs.Episode{}, err
	}
	a.task = claim.Slot
	a.fresh = first

	e := runs.Episode{Failed: fmt.Sprintf("%d tasks in a row were at fault, the last because %s", a.replaced, a.why)}
	if a.replaced <= episode.MaxReplacements {
		e, err = a.episode(ctx)
		switch {
		case isVoid(err):
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

	e.Slot = a.task
	e.Attempt = a.attempt
	e.System = a.Version
	e.Topology = a.Topology

	return a.Journal.End(ctx, e)
}

// isVoid reports whether an error voids an attempt.
func isVoid(err error) bool {
	return errors.Is(err, envadapters.ErrTask) || errors.Is(err, errDiverged) || errors.Is(err, errNoReplays)
}

// episode plays the episode. If an environment breaks, the episode resumes by replay in another one.
func (a *slotState) episode(ctx context.Context) (e runs.Episode, err error) {
	err = a.Open(ctx, func(env envadapters.Environment) error {
		e = runs.Episode{}
		var steps []runs.Step
		fresh := a.fresh
		a.fresh = false // another environment continues with the steps that are recorded by then
		part := a.Measure()
		camera := a.Camera(env)
		note := ""
		player := episode.Player{
			Limits: a.Spec.Prompt,
			Note:   func() string { return note },
			Look: func(ctx context.Context, screen domain.Observation) (picture.Pictures, error) {
				return camera.Look(ctx, screen, a.Decoding)
			},
			Begin: func(ctx context.Context, _ envadapters.Transition) error {
				part("reset")

				return a.begin(ctx, env)
			},
			Decide: func(ctx context.Context, turn episode.Turn) (domain.Action, error) {
				if turn.Number > 1 {
					part("execute") // the action, and what follows it
				}
				step, ref, err := a.step(ctx, env, camera, turn, part, fresh)
				note = a.Decoding.Note(step.Decision)
				steps = append(steps, step)
				e.Steps = append(e.Steps, ref)
				part("record")

				return step.Decision.Executed, err
			},
			Summarise: a.Summarise(a.task.Seed),
		}
		played, err := player.Play(ctx, env, a.task.Task)
		e.Goal = played.Goal
		e.Outcome = played.Outcome
		e.Digest = runs.StepsDigest(steps)
		for _, step := range steps {
			e.Outcome.Cut += step.Decision.Cut()
			e.Outcome.Refused += step.Decision.Refused()
			e.Outcome.Repaired += step.Decision.Repaired()
		}
		if err == nil {
			e.End, err = camera.Last(ctx, played)
		}

		return err
	})

	return e, err
}

// begin refuses an environment in which the episode cannot be graded, or cannot resume.
func (a *slotState) begin(ctx context.Context, env envadapters.Environment) error {
	if err := episode.CheckJudge(a.Spec, env); err != nil {
		return err
	}
	if envadapters.Can(env).Replayable {
		return nil
	}

	begun, err := a.Journal.Decided(ctx, a.attempt, 1)
	if err == nil && begun {
		err = fault.New(fault.Fatal, "slot %d: %w", a.Number, errNoReplays)
	}

	return err
}

// step returns the recorded decision of a turn, or decides and records it. It calls part after each part of the step.
func (a *slotState) step(
	ctx context.Context, env envadapters.Environment, camera Camera, turn episode.Turn, part func(string), fresh bool,
) (runs.Step, store.Ref, error) {
	seen := runs.Digest(turn.Observation)
	image, err := camera.Screenshot(ctx) // also of a replay: the page's clock runs as far
	if err != nil {
		return runs.Step{}, store.Ref{}, err
	}
	part("screenshot")
	decide := func() (runs.Step, error) {
		decision, err := agents.Decide(ctx, a.Model(env), a.Decoding, turn.View(),
			domain.Seed(a.task.Seed, "step", turn.Number))
		part("decide")

		return runs.Step{ObservationDigest: seen, Image: image, Touch: turn.Touch, Step: domain.Step{
			Number: turn.Number, Goal: turn.Goal, History: turn.History, Observation: turn.Observation,
			Decision: decision, Right: episode.Right(env),
		}}, err
	}
	step, ref, err := a.Journal.Step(ctx, a.attempt, turn.Number, fresh, decide)
	if fault.KindOf(err) == fault.Refused {
		err = fault.New(fault.Refused, "step %d: %w", turn.Number, err)
	}
	if err == nil && step.ObservationDigest != seen {
		err = fault.New(fault.Fatal, "slot %d, step %d: %w", a.Number, turn.Number, errDiverged)
	}
	if err != nil {
		return step, ref, err
	}

	a.last = step
	a.lastRef = ref
	a.Progress(fmt.Sprintf("attempt %d, step %d: %s", a.attempt, turn.Number, step.Decision.Executed.Type))

	return step, ref, nil
}
