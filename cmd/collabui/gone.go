package main

import (
	"context"
	"errors"
	"time"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/process/supervisor"
)

// goneEvery is the interval between checks whether the services of the data folder still run.
const goneEvery = time.Second

// errGone ends a command attached to services that were stopped or killed.
var errGone = errors.New("the services have ended")

// guard ends the command once the services of the data folder have ended or been replaced by other processes, until
// stop is called. Without a supervisor, nothing is known about the services.
func (a *app) guard() (stop func()) {
	began, alive := supervisor.Read(a.data)
	if a.leave == nil || a.cluster || !alive {
		return func() {}
	}
	attached, stop := context.WithCancel(context.Background())
	go func() {
		for range time.Tick(goneEvery) {
			now, alive := supervisor.Read(a.data)
			switch {
			case attached.Err() != nil:
				return
			case !alive || now.PID != began.PID || !now.Started.Equal(began.Started):
				a.leave(errGone)

				return
			}
		}
	}()

	return stop
}

// gone returns a transient fault that names the remedy, if a context ended because the services did.
func (a *app) gone(ctx context.Context) error {
	if !errors.Is(context.Cause(ctx), errGone) {
		return nil
	}

	return fault.New(fault.Transient, "%w that ran for %s: start them again with %s, then the same command", errGone,
		a.data, a.typed("up"))
}
