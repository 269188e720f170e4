package openenv

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/scripted"
	"github.com/collabui/collabui/fault"
)

// TestAnAnswerToNoCallIsNotTakenForTheNext lets a server answer twice.
func TestAnAnswerToNoCallIsNotTakenForTheNext(t *testing.T) {
	twice := func(int, frame) (string, time.Duration) { return okState + "\n" + okState, 0 }
	c, err := Dial(t.Context(), fake(t, twice))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if err := c.Call(t.Context(), FrameState, nil, nil); err != nil {
		t.Fatal(err)
	}
	// The second answer is waiting, or it ended the session by arriving before the first one was taken.
	for ended := false; len(c.frames) == 0 && !ended; {
		select {
		case <-c.done:
			ended = true
		case <-time.After(time.Millisecond):
		}
	}
	if err := c.Call(t.Context(), FrameState, nil, nil); fault.KindOf(err) != fault.Void {
		t.Errorf("the second call = %v, want a void fault: what waits is no answer to it", err)
	}
}

// throwing is a suite whose pages throw at every step.
type throwing struct{ scripted.Suite }

func (s *throwing) Open(ctx context.Context) (envadapters.Environment, error) {
	env, err := s.Suite.Open(ctx)

	return throwingEnvironment{env}, err
}

type throwingEnvironment struct{ envadapters.Environment }

func (throwingEnvironment) Step(context.Context, domain.Action) (envadapters.Transition, error) {
	return envadapters.Transition{}, fault.New(fault.Invalid, "%w: the page throws", envadapters.ErrTask)
}

func TestATaskAtFaultIsSoOverTheNetwork(t *testing.T) {
	env := opened(t, served(t, &throwing{}, 1))
	if _, err := env.Reset(t.Context(), domain.Task{Template: "a", Split: "train", MaxSteps: 5}); err != nil {
		t.Fatal(err)
	}
	_, err := env.Step(t.Context(), domain.Action{Type: domain.ActionClick}.At(0))
	if !errors.Is(err, envadapters.ErrTask) {
		t.Errorf("step = %v, want a task at fault", err)
	}
}
