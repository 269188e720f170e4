package main

import (
	"context"
	"errors"
	"time"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/config"
	"github.com/collabui/collabui/internal/local/supervisor"
)

// goneEvery is the interval between checks whether the services of the data folder still run.
const goneEvery = time.Second

// restartEvery is the shortest time between two starts of services that were killed.
const restartEvery = time.Minute

// Reasons for which commands attached to services end.
var (
	errKilled = errors.New("the services were killed")
	errDown   = errors.New("the services were stopped")
)

// guard ends the command once the services of the data folder have ended or been replaced by other processes, until
// stop is called. Without a supervisor, nothing is known about the services.
func (a *app) guard() (stop func()) {
	began, alive := supervisor.Read(a.data)
	if a.leave == nil || a.cluster || !alive {
		return func() {}
	}
	attached, stop := context.WithCancel(context.Background())
	leave := a.leave
	go func() {
		for range time.Tick(goneEvery) {
			now, alive := supervisor.Read(a.data)
			switch {
			case attached.Err() != nil:
				return
			case alive && now.PID == began.PID && now.Started.Equal(began.Started):
				continue
			case now.PID == 0: // a supervisor removes its state when it ends by itself
				leave(errDown)
			default:
				leave(errKilled)
			}

			return
		}
	}()

	return stop
}

// gone returns a transient fault that names the remedy, if a context ended because the services did.
func (a *app) gone(ctx context.Context) error {
	cause := context.Cause(ctx)
	if !errors.Is(cause, errKilled) && !errors.Is(cause, errDown) {
		return nil
	}

	return fault.New(fault.Transient, "%w that ran for %s: start them again with %s, then the same command", cause,
		a.data, a.typed("up"))
}

// withServices starts the services of the data folder unless they run, and calls attempt with a session. If the
// services are killed meanwhile, it starts them again, at most once a minute, and calls attempt again.
func (a *app) withServices(ctx context.Context, o upOptions, attempt func(context.Context, *session) error) error {
	outer := a.leave
	defer func() { a.leave = outer }()
	var restarted time.Time
	for {
		attached, leave := context.WithCancelCause(ctx)
		a.leave = leave
		s, err := a.connectUp(attached, o)
		state, _ := supervisor.Read(a.data)
		if err == nil {
			err = attempt(attached, s)
			s.Close()
		}
		leave(nil)
		gone := a.gone(attached)
		if err == nil || gone == nil {
			return err
		}
		if errors.Is(gone, errDown) || !restartable(state) {
			return gone
		}

		say(a.err, "the services that ran for %s were killed: they are started again", a.data)
		select {
		case <-time.After(time.Until(restarted.Add(restartEvery))):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		restarted, o.tabs = time.Now(), state.Tabs
	}
}

// restartable reports whether the environment has the addresses of all services that run elsewhere. Without them,
// other services would be started.
func restartable(state supervisor.State) bool {
	e, err := config.FromEnv()
	for name, address := range map[supervisor.Name]string{
		supervisor.Temporal: e.Temporal, supervisor.S3: e.Store.Endpoint, supervisor.Redis: e.Redis,
		supervisor.Policy: e.Policy,
	} {
		if state.Services[name].External && address == "" {
			return false
		}
	}

	return err == nil
}
