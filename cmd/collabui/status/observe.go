package status

import (
	"context"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/cmd/collabui/health"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/config"
	"github.com/collabui/collabui/internal/local/supervisor"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/workflows"
)

// observe reads the status of a run while it checks every service, because a service that hangs must not hide what the
// others know.
func observe(
	ctx context.Context, a *app.App, bucket store.Bucket, endpoints config.Endpoints, run string,
) (Report, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type answer struct {
		Report
		err error
	}
	read := make(chan answer, 1)
	go func() {
		st, err := Read(ctx, bucket, endpoints, run)
		if err == nil {
			st.ReadLive(ctx, endpoints)
		}
		read <- answer{st, err}
	}()

	problems := health.Problems(health.Probe(ctx, a, endpoints))
	_, files := bucket.(store.Files) // they can be read without the server
	if health.Fails(problems, supervisor.S3) && !files {
		for _, finding := range problems {
			finding.Text(a.Err)
		}

		return Report{}, fault.New(fault.Transient, "the run cannot be read while the object store does not answer")
	}
	got := <-read
	got.Problems = problems
	if got.Status == stateStopped {
		got.Reason = a.Typed("train %s", run) + " continues it"
		if got.Stage == workflows.StageEvaluation {
			got.Reason = "it was stopped in its last evaluation, so results are missing; " + got.Reason
		}
	}
	if got.Status == stateUnknown && endpoints.Temporal == "" {
		got.Reason = "no services run: " + a.Typed("up") + " starts them, and what was open continues"
	}
	got.View = RunPage(endpoints, run)
	got.Reason = a.Pasteable(got.Reason)
	got.next = a.Command

	return got.Report, got.err
}

// Show prints the status of a run.
func Show(ctx context.Context, a *app.App, bucket store.Bucket, endpoints config.Endpoints, run string) error {
	st, err := observe(ctx, a, bucket, endpoints, run)
	if err != nil {
		return err
	}

	return a.Print(st, st.text)
}
