package endpoints

import (
	"context"

	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/prompts"
	"github.com/collabui/collabui/internal/method/spec"
)

// Trial is a model that is called before a run in the same way as during the run. Its calls are neither recorded nor
// counted towards a budget or the endpoint's limits. It keeps the result of the last call. It is not safe for
// concurrent use.
type Trial struct {
	Calls int // number of calls made
	Last  chat.Response
	Wrong string // why the role cannot use the last answer, or empty
	Err   error

	client chat.Model
	model  spec.Model
}

// Trial returns the model with a name in the specification, to play a role before the run, and the role's prompt. It
// makes no call. The error is an invalid fault if this process lacks the key.
func (e *Endpoints) Trial(specification spec.Spec, name spec.Role, role string) (*Trial, *prompts.Prompt, error) {
	client, prompt, err := e.reach(specification, name, role)

	return &Trial{client: client, model: specification.Models[name]}, prompt, err
}

// Complete makes a call.
func (t *Trial) Complete(ctx context.Context, request chat.Request) (chat.Response, error) {
	t.Calls++
	t.Wrong = ""
	t.Last, t.Err = t.client.Complete(ctx, withDefaults(request, t.model))
	t.Last.OnRead = func(wrong string) { t.Wrong = wrong }

	return t.Last, t.Err
}

// CheckTurns returns an invalid fault if a page can forge a turn in the model's chat. It returns nil if the server does
// not allow this check.
func (t *Trial) CheckTurns(ctx context.Context) error {
	if c, ok := t.client.(interface {
		CheckTurns(ctx context.Context) error
	}); ok {
		return c.CheckTurns(ctx)
	}

	return nil
}

var _ chat.Model = (*Trial)(nil)
