package openenv

import (
	"context"
	"errors"
)

type question func(context.Context, *Conn) (Description, error)

// askAny sends a question to all servers at once and returns the first answer. It fails when all of them have failed.
func askAny(ctx context.Context, servers []string, ask question) (Description, error) {
	type answer struct {
		Description
		server int
		err    error
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := make(chan answer, len(servers))
	for i, a := range servers {
		go func() {
			description, err := askOne(ctx, a, ask)
			answers <- answer{description, i, err}
		}()
	}

	errs := make([]error, len(servers))
	for range servers {
		x := <-answers
		if x.err == nil {
			return x.Description, nil
		}
		errs[x.server] = x.err
	}

	return Description{}, errors.Join(errs...)
}

func askOne(ctx context.Context, server string, ask question) (Description, error) {
	conn, err := Dial(ctx, server)
	if err != nil {
		return Description{}, err
	}
	defer conn.Close()

	return ask(ctx, conn)
}

// State returns the description of the suite from the first server that answers.
func State(ctx context.Context, servers []string) (Description, error) {
	return askAny(ctx, servers, func(ctx context.Context, conn *Conn) (description Description, err error) {
		err = conn.Call(ctx, FrameState, nil, &description)
		return description, err
	})
}
