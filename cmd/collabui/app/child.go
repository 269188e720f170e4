package app

import (
	"context"
	"io"
	"os"
	"time"

	"github.com/spf13/pflag"
)

// ChildOptions are the flags of commands that a supervisor starts.
type ChildOptions struct {
	parentPipe bool
}

// AddFlags adds the flag with which the supervisor starts its children.
func (o *ChildOptions) AddFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&o.parentPipe, "parent-pipe", false, "end when standard input closes")
}

// Lifetime returns a context that also ends when the supervisor closes its pipe. The process then has ten seconds.
func (o ChildOptions) Lifetime(ctx context.Context) context.Context {
	if !o.parentPipe {
		return ctx
	}
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
		time.Sleep(10 * time.Second)
		os.Exit(ExitService)
	}()

	return ctx
}
