package envadapters

import (
	"context"

	"github.com/collabui/collabui/domain"
)

// Probe resets one task and says how that went; fix is what to do where it fails. Suites use it for Check.
func Probe(ctx context.Context, s Suite, t domain.Task, fix string) Health {
	env, err := s.Open(ctx)
	if err != nil {
		return Health{State: Busy, Detail: err.Error(), Fix: "wait, or give the worker more places"}
	}
	defer env.Close(ctx)
	t.Suite = s.Name()
	if _, err := env.Reset(ctx, t); err != nil {
		return Health{State: Dead, Detail: err.Error(), Fix: fix}
	}
	return Health{State: Ready, Detail: "a page opens, resets and observes"}
}
