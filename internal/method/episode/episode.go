// Package episode plays episodes. It has the only loop that resets an environment, obtains decisions, executes them,
// keeps the history and scores the episode. Rollout, evaluation, stage 1 and live inference differ in their hooks.
//
// It does no I/O. It links no browser driver. It links no Temporal.
package episode

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/picture"
)

// Turn is an environment step before it is decided.
type Turn struct {
	Number      int // from 1
	Goal        string
	History     []string // one line per past step
	Observation domain.Observation
	Touch       *domain.Touch // where the previous action reached its screen, if known
	Pictures    picture.Pictures
}

// View returns what agents see of the turn, apart from messages.
func (t Turn) View() agents.View {
	return agents.View{
		Goal: t.Goal, History: t.History, Observation: t.Observation, Picture: t.Pictures.Whole,
		Parts: t.Pictures.Parts,
	}
}

// Executed is a turn with its action and what followed.
type Executed struct {
	Turn
	Action  domain.Action
	Invalid string // why the action was not executed, or empty
	After   domain.Observation
	// AfterPictures are the pictures of After. There are none after the last step.
	AfterPictures picture.Pictures
}

// Camera takes the pictures that systems see.
type Camera interface {
	// Look returns what the agents of a configuration see of the present screen. It returns no pictures if they see
	// text only.
	Look(ctx context.Context, screen domain.Observation, config agents.Config) (picture.Pictures, error)

	// Solo returns the pictures that an agent of the literature sees, which is a policy of the run or a chat model: the
	// screen and, with marks, also the marked one.
	Solo(ctx context.Context, screen domain.Observation, marks, policy bool) ([]chat.Image, error)
}

// Player holds the hooks in which the ways of playing episodes differ. Only Decide is required. An error of any hook
// ends the episode and is returned.
type Player struct {
	// Begin is called after the reset.
	Begin func(ctx context.Context, tr envadapters.Transition) error

	// Look returns the pictures of a screen. If it is nil, turns have none.
	Look func(ctx context.Context, screen domain.Observation) (picture.Pictures, error)

	// Decide returns the action of a turn. The action has type domain.ActionNone if no answer parsed. ErrStop ends the
	// episode without a score.
	Decide func(ctx context.Context, t Turn) (domain.Action, error)

	// Limits bounds the lines of the history that are written by fixed rules.
	Limits agents.Limits

	// Summarise returns the line that a step adds to the history. If it is nil, Limits.Summarise is used. It is called
	// neither if the environment provides its own history, nor for a step at which no answer parsed, whose line is the
	// same for all players. The text may end with a note, see agents.SplitNote.
	Summarise func(ctx context.Context, e Executed) (string, error)

	// Note returns what the last decision adds to the notes at the end of the history, or "". It may be nil. A
	// note in the text of Summarise takes its place.
	Note func() string

	// After is called after a step has been executed.
	After func(ctx context.Context, e Executed) error
}

// Played is the result of an episode.
type Played struct {
	Goal    string
	Outcome domain.Outcome
	Stopped bool // whether Decide returned ErrStop, so that there is no score

	// Last is the observation after the last step. Touch is where that step reached the previous screen, if known.
	Last  domain.Observation
	Touch *domain.Touch
}

// ErrStop is returned by Decide to end an episode early, for example if an expert knows no further action.
var ErrStop = errors.New("the episode is stopped")

// Play plays a task from its reset to its end. If the episode ends with an error, the result contains what was known by
// then. Play may be repeated, because it begins with Reset.
func (p Player) Play(ctx context.Context, env envadapters.Environment, task domain.Task) (Played, error) {
	tr, err := env.Reset(ctx, task)
	if err != nil {
		return Played{}, err
	}

	out := Played{Goal: tr.Goal}
	if p.Begin != nil {
		if err := p.Begin(ctx, tr); err != nil {
			return out, err
		}
	}

	history := tr.History
	pictures, err := p.look(ctx, tr)
	if err != nil {
		return out, err
	}
	for n := 1; !tr.Terminated && !tr.Truncated; n++ {
		turn := Turn{
			Number: n, Goal: out.Goal, History: history, Observation: tr.Observation, Touch: tr.Touch,
			Pictures: pictures,
		}

		var invalid string
		tr, pictures, invalid, history, err = p.step(ctx, env, turn)
		if errors.Is(err, ErrStop) {
			out.Stopped = true
			return out, nil
		}
		if err != nil {
			return out, err
		}

		out.Outcome.Steps = n
		out.Last = tr.Observation
		out.Touch = tr.Touch
		if invalid != "" {
			out.Outcome.Invalid++
		}
	}

	score, err := env.Score(ctx)
	out.Outcome.Success = score.Success
	out.Outcome.Truncated = tr.Truncated
	out.Outcome.Metrics = score.Metrics

	return out, err
}

// look returns the pictures of a screen on which a decision follows.
func (p Player) look(ctx context.Context, tr envadapters.Transition) (picture.Pictures, error) {
	if p.Look == nil || tr.Terminated || tr.Truncated {
		return picture.Pictures{}, nil
	}

	return p.Look(ctx, tr.Observation)
}

// step decides and executes one turn. It returns the transition with its pictures, why the action was not executed, and
// the new history.
func (p Player) step(
	ctx context.Context, env envadapters.Environment, turn Turn,
) (envadapters.Transition, picture.Pictures, string, []string, error) {
	action, err := p.Decide(ctx, turn)
	if err != nil {
		return envadapters.Transition{}, picture.Pictures{}, "", nil, err
	}

	executable := action
	if action.Speech() { // it is never executed, but the step counts
		executable = domain.Action{Type: domain.ActionNone}
	}
	tr, err := env.Step(ctx, executable)
	if err != nil {
		return tr, picture.Pictures{}, "", nil, err
	}
	after, err := p.look(ctx, tr)
	if err != nil {
		return tr, after, "", nil, err
	}

	executed := Executed{
		Turn: turn, Action: action, Invalid: tr.Invalid, After: tr.Observation, AfterPictures: after,
	}
	unparsed := action.Type == domain.ActionNone && action.Family == "" // agents of the web may choose to do nothing
	switch {
	case action.Speech():
		executed.Invalid = "nobody acted"
	case executed.Invalid == "" && unparsed:
		executed.Invalid = "no answer parsed"
	}
	if p.After != nil {
		if err := p.After(ctx, executed); err != nil {
			return tr, after, "", nil, err
		}
	}
	if tr.History != nil {
		return tr, after, executed.Invalid, tr.History, nil
	}

	note := ""
	if p.Note != nil {
		note = p.Note()
	}
	line := p.Limits.Summarise(turn.Number, action, turn.Observation, executed.Invalid)
	if p.Summarise != nil && !unparsed && !action.Speech() {
		text, err := p.Summarise(ctx, executed)
		if err != nil {
			return tr, after, executed.Invalid, nil, err
		}
		var written string
		line, written = agents.SplitNote(text)
		note = cmp.Or(written, note)
	}

	return tr, after, executed.Invalid, p.Limits.Remember(turn.History, line, note), nil
}

// MaxReplacements is the number of replacements of a task that may be at fault, too, before no further one is drawn.
const MaxReplacements = 3

// maxReopens is the number of environments that may break in one episode before In gives up.
const maxReopens = 5

// In calls play with an environment of the suite, translated for agents that speak the family. If the environment
// breaks, which is a void fault, it calls play again with a new one. A panic counts as a void fault. play must begin
// with Reset.
func In(
	ctx context.Context, suite envadapters.Suite, family domain.Family, play func(envadapters.Environment) error,
) error {
	var err error
	for try := range maxReopens {
		var env envadapters.Environment
		if env, err = suite.Open(ctx); err != nil {
			return err
		}

		err = playAndClose(ctx, env, func() error { return play(envadapters.Speaking(env, suite.Family(), family)) })
		if err == nil || fault.KindOf(err) != fault.Void || ctx.Err() != nil {
			return err
		}

		select {
		case <-time.After(time.Duration(try) * 100 * time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}

	return err
}

// playAndClose calls play and closes the environment. A panic, for example of an adapter, breaks only this environment,
// and other episodes of the same worker continue.
func playAndClose(ctx context.Context, env envadapters.Environment, play func() error) (err error) {
	defer env.Close(context.WithoutCancel(ctx))
	defer func() {
		if p := recover(); p != nil {
			err = fault.New(fault.Void, "the episode panicked in %s: %.200v", panicPlace(), p)
		}
	}()

	return play()
}

// panicPlace returns the function and the line that panicked. It must be called from a deferred function that recovers.
func panicPlace() string {
	pcs := make([]uintptr, 32)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	for {
		frame, more := frames.Next()
		if !more || !strings.HasPrefix(frame.Function, "runtime.") {
			return fmt.Sprintf("%s, line %d", frame.Function, frame.Line)
		}
	}
}
