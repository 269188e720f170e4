package guard

import (
	"context"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"
)

// Belonging names the store to which a workflow and everything that it starts belong, and the run. It travels in the
// headers of Temporal, which Headers write and read.
type Belonging struct {
	Store string // id
	Where string // endpoint and bucket, for people
	Run   string `json:",omitempty"` // the run that the workflow drives; "" for other workflows, such as an evaluation
}

// belongingKey is the key of a Belonging in contexts.
type belongingKey struct{}

// In returns a context in which workflows and updates are started that belong there.
func (x Belonging) In(ctx context.Context) context.Context {
	return context.WithValue(ctx, belongingKey{}, x)
}

// BelongingOf returns what the activity that runs belongs to, or false if its workflow carries no such header.
func BelongingOf(ctx context.Context) (Belonging, bool) {
	belonging, ok := ctx.Value(belongingKey{}).(Belonging)

	return belonging, ok
}

// Drives returns the context of a child workflow that drives a run.
func Drives(ctx workflow.Context, run string) workflow.Context {
	belonging, ok := ctx.Value(belongingKey{}).(Belonging)
	if !ok {
		return ctx
	}
	belonging.Run = run

	return workflow.WithValue(ctx, belongingKey{}, belonging)
}

// Headers carry a Belonging from a client to workflows, and on to their children and activities.
type Headers struct{ Converter converter.DataConverter }

// header is the name of the header.
const header = "collabui-belonging"

var _ workflow.ContextPropagator = Headers{}

// Inject writes the Belonging of a client's context.
func (h Headers) Inject(ctx context.Context, to workflow.HeaderWriter) error {
	return h.write(ctx.Value(belongingKey{}), to)
}

// InjectFromWorkflow writes the Belonging of a workflow's context.
func (h Headers) InjectFromWorkflow(ctx workflow.Context, to workflow.HeaderWriter) error {
	return h.write(ctx.Value(belongingKey{}), to)
}

// Extract returns the context of an activity.
func (h Headers) Extract(ctx context.Context, from workflow.HeaderReader) (context.Context, error) {
	belonging, ok, err := h.read(from)
	if err != nil || !ok {
		return ctx, err
	}

	return belonging.In(ctx), nil
}

// ExtractToWorkflow returns the context of a workflow, or of an update, which does not name the run that it drives.
func (h Headers) ExtractToWorkflow(ctx workflow.Context, from workflow.HeaderReader) (workflow.Context, error) {
	belonging, ok, err := h.read(from)
	if err != nil || !ok || ctx.Value(belongingKey{}) != nil {
		return ctx, err
	}

	return workflow.WithValue(ctx, belongingKey{}, belonging), nil
}

func (h Headers) write(value any, to workflow.HeaderWriter) error {
	if value == nil {
		return nil
	}
	payload, err := h.Converter.ToPayload(value)
	if err == nil {
		to.Set(header, payload)
	}

	return err
}

func (h Headers) read(from workflow.HeaderReader) (belonging Belonging, ok bool, err error) {
	var payload *commonpb.Payload
	if payload, ok = from.Get(header); ok {
		err = h.Converter.FromPayload(payload, &belonging)
	}

	return belonging, ok, err
}
