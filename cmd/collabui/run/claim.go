package run

import (
	"context"
	"time"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/cmd/collabui/terminal"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/workers"
)

// claim makes the namespace of this session the one that drives a run, reports it if another one drove the run before,
// and returns the context in which the run is started.
func claim(ctx context.Context, session *app.Session, run string) (context.Context, error) {
	own, err := store.Identify(ctx, session.Store)
	if err != nil {
		return nil, err
	}
	claim, err := workers.ClaimOf(ctx, session.Temporal, session.Endpoints, app.UserName())
	if err != nil {
		return nil, err
	}
	claim.Store = own.ID
	before, err := runs.Run(run).Take(ctx, session.Store, claim)
	if err != nil {
		return nil, err
	}
	if before.Namespace != "" && !before.Same(claim) {
		terminal.Line(session.Err,
			"note: until now run %s was driven by the namespace %s of the Temporal at %s, since %s claimed it "+
				"at %s. It continues here; if it is still open there, it pauses there within seconds and reports why",
			run, before.Name, before.Address, before.Who, before.At.Format(time.DateTime))
	}

	return session.StartContext(ctx, run)
}
