package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/domain"
)

// noticeLimit is how long a notice that ends a run is tried.
const noticeLimit = time.Minute

// notify notifies people of what became of the run. Nothing waits for it before the workflow ends, and then not for
// long: a notice that ends the run is given up after noticeLimit.
func (r *runState) notify(ctx workflow.Context, kind domain.NoticeKind, text string) {
	notice := domain.Notice{
		ID:   fmt.Sprintf("%s/%s/%d", r.in.Name, kind, workflow.Now(ctx).UnixMilli()),
		Kind: kind, At: workflow.Now(ctx).UTC(), Run: r.in.Name, Text: text,
	}
	r.openNotices++
	workflow.Go(ctx, func(ctx workflow.Context) {
		nctx := on(ctx, QueueControl, "notify: "+string(kind))
		if kind == domain.NoticeEnded || kind == domain.NoticeStopped {
			nctx = workflow.WithScheduleToCloseTimeout(nctx, noticeLimit)
		}
		_ = workflow.ExecuteActivity(nctx, control.Post, notice).Get(ctx, nil)
		r.openNotices--
	})
}

// answered waits until all updates are answered, and until all notices are written or the last try of the last one is
// over.
func (r *runState) answered(ctx workflow.Context) error {
	if r.openNotices > 0 {
		written := func() bool { return r.openNotices == 0 }
		if _, err := workflow.AwaitWithTimeout(ctx, 2*noticeLimit, written); err != nil {
			return err
		}
	}

	return workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) })
}
