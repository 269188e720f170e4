package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/domain"
)

// tellLimit is how long a notice that ends a run is tried.
const tellLimit = time.Minute

// tell notifies people of what became of the run. Nothing waits for it before the workflow ends, and then not for long:
// a notice that ends the run is given up after tellLimit.
func (r *runState) tell(ctx workflow.Context, kind domain.NoticeKind, text string) {
	n := domain.Notice{
		ID:   fmt.Sprintf("%s/%s/%d", r.in.Name, kind, workflow.Now(ctx).UnixMilli()),
		Kind: kind, At: workflow.Now(ctx).UTC(), Run: r.in.Name, Text: text,
	}
	r.telling++
	workflow.Go(ctx, func(ctx workflow.Context) {
		nctx := on(ctx, QueueControl, "notify: "+string(kind))
		if kind == domain.NoticeEnded || kind == domain.NoticeStopped {
			nctx = workflow.WithScheduleToCloseTimeout(nctx, tellLimit)
		}
		_ = workflow.ExecuteActivity(nctx, control.Post, n).Get(ctx, nil)
		r.telling--
	})
}

// answered waits until all updates are answered, and until all notices are written or the last try of the last one is
// over.
func (r *runState) answered(ctx workflow.Context) error {
	if r.telling > 0 {
		written := func() bool { return r.telling == 0 }
		if _, err := workflow.AwaitWithTimeout(ctx, 2*tellLimit, written); err != nil {
			return err
		}
	}

	return workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) })
}
