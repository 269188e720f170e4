package main

import (
	"context"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/collabui/collabui/internal/config"
	"github.com/collabui/collabui/internal/local/supervisor"
	"github.com/collabui/collabui/workers"
)

// childOptions are the flags of commands that a supervisor starts.
type childOptions struct {
	parentPipe bool
}

func (o *childOptions) addFlags(f *pflag.FlagSet) {
	f.BoolVar(&o.parentPipe, "parent-pipe", false, "end when standard input closes")
}

// lifetime returns a context that also ends when the supervisor closes its pipe. The process then has ten seconds.
func (o childOptions) lifetime(ctx context.Context) context.Context {
	if !o.parentPipe {
		return ctx
	}
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
		time.Sleep(10 * time.Second)
		os.Exit(exitService)
	}()

	return ctx
}

// workerEndpoints returns the environment's endpoints if they are complete, as a supervisor passes them, and otherwise
// the data folder's. A policy server needs only the store, and the codec server not even that.
func (a *app) workerEndpoints(roles []string) (config.Endpoints, error) {
	e, err := config.FromEnv()
	if err != nil || e.Complete() == nil {
		return e, err
	}
	alone := len(roles) == 1 && slices.Contains(workers.Servers, roles[0])
	if alone && e.Store.Endpoint != "" {
		return e, nil
	}
	if local, err := supervisor.Endpoints(a.data); err == nil && !a.cluster {
		return local, nil
	}
	if alone && roles[0] == workers.RoleCodec {
		return e, nil
	}

	return e, e.Complete()
}
