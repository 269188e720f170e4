package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

const (
	readyLimit = 60 * time.Second
	// readyPause is short because most services are up within a second.
	readyPause = 20 * time.Millisecond
	tryLimit   = 5 * time.Second
)

// until calls check until it succeeds, finds a problem, or the time is over.
func until(ctx context.Context, what string, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	for {
		err := try(ctx, check)
		var p *problem
		if err == nil || errors.As(err, &p) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until %s: %w, last: %w", what, ctx.Err(), err)
		case <-time.After(readyPause):
		}
	}
}

func try(ctx context.Context, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, tryLimit)
	defer cancel()
	return check(ctx)
}

// getOK requests url and returns an error unless the status is 200.
func getOK(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}

	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", url, resp.Status)
	}

	return nil
}
