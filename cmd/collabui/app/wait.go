package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/temporal"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/workflows"
)

// Awaited is a workflow, or anything else that ends.
type Awaited interface {
	GetID() string
	Get(ctx context.Context, out any) error
}

// EndError describes how a workflow ended that did not complete: stopped by a person, failed, or for unknown reasons.
func EndError(err error) error {
	var app *temporal.ApplicationError
	var ended *temporal.WorkflowExecutionError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &app) && app.Type() == workflows.ErrStopped:
		return fmt.Errorf("%w: the command that started it continues it", errStopped)
	case errors.As(err, &ended):
		return fault.New(fault.Fatal, "%w", err)
	}

	return fault.New(fault.Transient, "%w", err)
}

// maxSilence is the number of times, a second apart, that wait tries to reach Temporal before it gives up.
const maxSilence = 60

// Wait waits until a workflow has ended. If Temporal does not respond, as after a laptop's sleep, it tries again.
func Wait(ctx context.Context, awaited Awaited) (err error) {
	for range maxSilence {
		err = awaited.Get(ctx, nil)
		var done *temporal.WorkflowExecutionError
		var none *serviceerror.NotFound
		if err == nil || errors.As(err, &done) || errors.As(err, &none) || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}

	return err
}
