package main

import (
	"context"
	"time"

	"github.com/collabui/collabui/activities/guard"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/workers"
)

// here returns a context for starting workflows that belong to the store of this session and, unless run is empty,
// drive that run.
func (s *session) here(ctx context.Context, run string) (context.Context, error) {
	own, err := store.Identify(ctx, s.bucket)

	return guard.Belonging{Store: own.ID, Where: workers.Where(s.ends), Run: run}.In(ctx), err
}

// claim makes the namespace of this session the one that drives a run, reports it if another one drove the run before,
// and returns the context in which the run is started.
func (s *session) claim(ctx context.Context, run string) (context.Context, error) {
	own, err := store.Identify(ctx, s.bucket)
	if err != nil {
		return nil, err
	}
	claim, err := workers.ClaimOf(ctx, s.temporal, s.ends, userName())
	if err != nil {
		return nil, err
	}
	claim.Store = own.ID
	before, err := runs.Run(run).Take(ctx, s.bucket, claim)
	if err != nil {
		return nil, err
	}
	if before.Namespace != "" && !before.Same(claim) {
		say(s.err, "note: until now run %s was driven by the namespace %s of the Temporal at %s, since %s claimed it "+
			"at %s. It continues here; if it is still open there, it pauses there within seconds and says why", run,
			before.Name, before.Address, before.Who, before.At.Format(time.DateTime))
	}

	return s.here(ctx, run)
}

// drivenElsewhere returns the claim of another namespace that drives a run which has not ended, or an empty one.
func (s *session) drivenElsewhere(ctx context.Context, run runs.Run) (runs.Claim, error) {
	newest, n, err := run.Claimed(ctx, s.bucket, 0)
	if err != nil || n == 0 {
		return runs.Claim{}, err
	}
	ended, err := run.End().Exists(ctx, s.bucket)
	if err != nil || ended {
		return runs.Claim{}, err
	}
	own, err := workers.ClaimOf(ctx, s.temporal, s.ends, userName())
	if err != nil || newest.Namespace == own.Namespace {
		return runs.Claim{}, err
	}

	return newest, nil
}
