package app

import (
	"context"
	"errors"
	"time"

	"github.com/collabui/collabui/cmd/collabui/terminal"
	"github.com/collabui/collabui/internal/config"
	"github.com/collabui/collabui/internal/local/supervisor"
)

// WithServices starts the services of the data folder unless they run, and calls attempt with a session. If the
// services are killed meanwhile, it starts them again, at most once a minute, and calls attempt again.
func (a *App) WithServices(
	ctx context.Context, options ServiceOptions, attempt func(context.Context, *Session) error,
) error {
	outer := a.leave
	defer func() { a.leave = outer }()
	var restarted time.Time
	for {
		attached, leave := context.WithCancelCause(ctx)
		a.leave = leave
		session, err := a.StartAndConnect(attached, options)
		state, _ := supervisor.Read(a.Data)
		if err == nil {
			err = attempt(attached, session)
			session.Close()
		}
		leave(nil)
		gone := a.LostServices(attached)
		if err == nil || gone == nil {
			return err
		}
		if errors.Is(gone, errDown) || !restartable(state) {
			return gone
		}

		terminal.Line(a.Err, "the services that ran for %s were killed: they are started again", a.Data)
		select {
		case <-time.After(time.Until(restarted.Add(restartEvery))):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		restarted = time.Now()
		options.Tabs = state.Tabs
	}
}

// restartEvery is the shortest time between two starts of services that were killed.
const restartEvery = time.Minute

// restartable reports whether the environment has the addresses of all services that run elsewhere. Without them,
// other services would be started.
func restartable(state supervisor.State) bool {
	endpoints, err := config.FromEnv()
	for name, address := range map[supervisor.Name]string{
		supervisor.Temporal: endpoints.Temporal, supervisor.S3: endpoints.Store.Endpoint,
		supervisor.Redis:  endpoints.Redis,
		supervisor.Policy: endpoints.Policy,
	} {
		if state.Services[name].External && address == "" {
			return false
		}
	}

	return err == nil
}
