package app

import (
	"context"
	"errors"
	"time"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/local/supervisor"
)

// guardEvery is the interval between checks whether the services of the data folder still run.
const guardEvery = time.Second

// Reasons for which commands attached to services end.
var (
	errKilled = errors.New("the services were killed")
	errDown   = errors.New("the services were stopped")
)

// GuardedContext returns a context that ends when a guard finds that the services have ended, or when the returned
// function is called.
func (a *App) GuardedContext(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, a.leave = context.WithCancelCause(ctx)

	return ctx, func() { a.leave(nil) }
}

// guard ends the command once the services of the data folder have ended or been replaced by other processes, until
// stop is called. Without a supervisor, nothing is known about the services.
func (a *App) guard() (stop func()) {
	began, alive := supervisor.Read(a.Data)
	if a.leave == nil || a.Cluster || !alive {
		return func() {}
	}
	attached, stop := context.WithCancel(context.Background())
	leave := a.leave
	go func() {
		for range time.Tick(guardEvery) {
			now, alive := supervisor.Read(a.Data)
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

// LostServices returns a transient fault that names the remedy, if a context ended because the services did.
func (a *App) LostServices(ctx context.Context) error {
	cause := context.Cause(ctx)
	if !errors.Is(cause, errKilled) && !errors.Is(cause, errDown) {
		return nil
	}

	return fault.New(fault.Transient, "%w that ran for %s: start them again with %s, then the same command", cause,
		a.Data, a.Typed("up"))
}
