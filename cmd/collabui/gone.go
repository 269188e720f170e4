package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/process/supervisor"
)

// goneEvery is the time between two looks at whether the services of the data folder still run.
const goneEvery = time.Second

// restartEvery is the shortest time between two starts of services that were killed.
const restartEvery = time.Minute

var (
	errKilled = errors.New("the services were killed")
	errDown   = errors.New("the services were stopped")
)

// guard calls leave once the services of the data folder have ended, or run as other processes, until stop is called.
// Without a supervisor, nothing is known of the services.
func (a *app) guard(leave context.CancelCauseFunc) (stop func()) {
	began, alive := supervisor.Read(a.data)
	if leave == nil || a.cluster || !alive {
		return func() {}
	}
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(goneEvery):
			}
			now, alive := supervisor.Read(a.data)
			switch {
			case alive && now.PID == began.PID && now.Started.Equal(began.Started):
				continue
			case now.PID == 0: // the supervisor removes its state when it ends by itself
				leave(errDown)
			default:
				leave(errKilled)
			}

			return
		}
	}()

	return sync.OnceFunc(func() { close(done) })
}

// gone returns a transient fault that names the command that helps if a context ended because the services did.
func (a *app) gone(ctx context.Context) error {
	cause := context.Cause(ctx)
	if !errors.Is(cause, errKilled) && !errors.Is(cause, errDown) {
		return nil
	}

	return fault.New(fault.Transient, "%w that ran for %s: start them again with %s, then the same command", cause,
		a.data, a.typed("up"))
}

// withServices starts the services of the data folder unless they run, and calls attempt. If the services are killed
// meanwhile, it starts them again as they were, at most once a minute, and calls attempt again.
func (a *app) withServices(ctx context.Context, o upOptions, attempt func(context.Context) error) error {
	outer := a.leave
	defer func() { a.leave = outer }()
	var restarted time.Time
	for {
		if err := a.ensureUp(ctx, o); err != nil {
			return err
		}
		if a.cluster {
			return attempt(ctx)
		}
		again, err := a.runningOptions()
		if err != nil {
			return err
		}

		attached, leave := context.WithCancelCause(ctx)
		a.leave = leave
		err = attempt(attached)
		leave(nil)
		if err == nil || !errors.Is(context.Cause(attached), errKilled) {
			return err
		}
		say(a.err, "the services that ran for %s were killed: they are started again", a.data)
		select {
		case <-time.After(time.Until(restarted.Add(restartEvery))):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		restarted, o = time.Now(), again
	}
}

// runningOptions returns the options with which the services of the data folder start as they run now.
func (a *app) runningOptions() (upOptions, error) {
	st, _ := supervisor.Read(a.data)
	e, err := supervisor.Endpoints(a.data)
	if err != nil {
		return upOptions{}, err
	}
	external := func(name supervisor.Name, address string) string {
		if !st.Services[name].External {
			return ""
		}

		return address
	}

	return upOptions{tabs: st.Tabs, external: externalOptions{
		temporal: external(supervisor.Temporal, e.Temporal),
		s3:       external(supervisor.S3, e.StoreURL()),
		redis:    external(supervisor.Redis, e.Redis),
		policy:   external(supervisor.Policy, e.Policy),
	}}, nil
}
