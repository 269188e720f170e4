package play

import (
	"context"
	"fmt"
	"time"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/chat"
)

// steadyFor is how long an episode that cannot begin again waits for a model: less than the time to live of an
// emulator's lease.
const steadyFor = 10 * time.Minute

// steadyModel repeats a request while the servers of a model do not answer or have no time. Another try of the activity
// would have to replay the episode, which not every environment can.
type steadyModel struct {
	chat.Model
	progress activities.Progress
}

// Steady returns the model for the episodes of an environment.
func Steady(model chat.Model, env envadapters.Environment, progress activities.Progress) chat.Model {
	if envadapters.Can(env).Replayable {
		return model
	}

	return steadyModel{model, progress}
}

func (m steadyModel) Complete(ctx context.Context, request chat.Request) (chat.Response, error) {
	end := time.Now().Add(steadyFor)
	for try := int32(1); ; try++ {
		res, err := m.Model.Complete(ctx, request)
		kind := fault.KindOf(err)
		if err == nil || kind != fault.Transient && kind != fault.Throttled {
			return res, err
		}
		pause := max(activities.UsualPause(try), min(fault.RetryAfter(err), time.Minute))
		if time.Now().Add(pause).After(end) {
			return res, err
		}
		m.progress(fmt.Sprintf("waits for a model (%s)", kind)) // the error may quote a prompt
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return res, context.Cause(ctx)
		}
	}
}
