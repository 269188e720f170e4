package main

import (
	"context"
	"io"
	"os"
	"time"

	"github.com/spf13/pflag"
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
