package operate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/cmd/collabui/status"
	"github.com/collabui/collabui/cmd/collabui/terminal"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/care/collect"
	"github.com/collabui/collabui/internal/care/verify"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/workers"
)

// runUndo takes back a deleted run, or what a run or the store lacks.
func runUndo(ctx context.Context, a *app.App, run string, missing bool) error {
	bucket, _, err := a.OpenStore()
	if err != nil {
		return err
	}
	recovery, err := takeBack(ctx, bucket, runs.Run(run), missing)
	if err != nil {
		return err
	}

	return a.Print(recovery, func(out io.Writer) {
		switch {
		case !missing:
			terminal.Line(out, "%s is back", run)
		case len(recovery.Missing) == 0 && recovery.Trash.Objects+recovery.Versions.Objects == 0:
			terminal.Line(out, "nothing is missing")

			return
		}
		line := func(t collect.Tally, from string) {
			if t.Objects > 0 {
				terminal.Line(out, "%8d objects, %10s taken back from %s", t.Objects, terminal.Megabytes(t.Bytes), from)
			}
		}
		line(recovery.Trash, "the trash")
		line(recovery.Versions, "the versions of the bucket")
		for _, key := range recovery.Missing {
			terminal.Line(out, "MISSING %s", key)
		}
		if len(recovery.Missing) > 0 {
			terminal.Line(out, "nowhere in this store: %s; take them from a copy with %s",
				terminal.Count(len(recovery.Missing), "object"), a.Typed("copy FROM store"))
		}
	})
}

// takeBack takes back a deleted run, or what a run or the store lacks.
func takeBack(ctx context.Context, bucket store.Keeper, run runs.Run, missing bool) (collect.Recovery, error) {
	if !missing {
		return collect.Undelete(ctx, bucket, run, runs.Decision{
			Who: app.UserName(), Why: "it is being taken back", At: time.Now().UTC(),
		})
	}
	if run != "" {
		if _, err := run.Find(ctx, bucket); err != nil {
			return collect.Recovery{}, err
		}

		return collect.Recover(ctx, bucket, app.UserName(), run, nil)
	}
	report, err := verify.Fsck(ctx, bucket)
	if err != nil {
		return collect.Recovery{}, err
	}

	return collect.Recover(ctx, bucket, app.UserName(), "", report.Missing)
}

// drivenElsewhere returns the claim of another namespace that drives a run which has not ended, or an empty one.
func drivenElsewhere(ctx context.Context, session *app.Session, run runs.Run) (runs.Claim, error) {
	newest, n, err := run.Claimed(ctx, session.Store, 0)
	if err != nil || n == 0 {
		return runs.Claim{}, err
	}
	ended, err := run.End().Exists(ctx, session.Store)
	if err != nil || ended {
		return runs.Claim{}, err
	}
	own, err := workers.ClaimOf(ctx, session.Temporal, session.Endpoints, app.UserName())
	if err != nil || newest.Namespace == own.Namespace {
		return runs.Claim{}, err
	}

	return newest, nil
}

func deleteCmd(a *app.App) *cobra.Command {
	var why string
	var undo, missing, yes bool
	cmd := &cobra.Command{
		Use:   "delete [RUN]",
		Short: "Delete a run that nothing else needs, or take back what was deleted",
		Long: `delete hides a run at once, and lets gc remove it, which frees its name. On a terminal it asks for
confirmation. It refuses a run that is open, that has forks, whose system a line accepts or accepted, or with whose
policies another run began.

--undo takes a deleted run back, with everything that it refers to: from the trash, where objects are until gc has run
twice more after it removed them, and from the versions of the bucket, if it keeps them. It refuses a run whose name
another run has by now. With --missing it takes back what a run that exists lacks, or, without RUN, everything that
fsck misses in the store. It reports what neither the trash nor the bucket has any more: see copy. It may be
repeated.`,
		Example: "  collabui delete try-7 --why 'a wrong prompt' && collabui gc\n  collabui delete try-7 --undo\n" +
			"  collabui delete quickstart --undo --missing\n  collabui delete --undo --missing",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			run := append(args, "")[0]
			switch {
			case run == "" && !missing:
				return fault.New(fault.Invalid, "name a RUN, or use --undo --missing for the whole store")
			case undo:
				return runUndo(cmd.Context(), a, run, missing)
			}

			return runDelete(cmd.Context(), a, run, why, yes)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&why, "why", "", "the reason for which the run is deleted, which is recorded")
	flags.BoolVar(&yes, "yes", false, "do not ask for confirmation, which only happens on a terminal")
	flags.BoolVar(&undo, "undo", false, "take back a deleted run")
	flags.BoolVar(&missing, "missing", false,
		"with --undo: take back what RUN lacks, or what fsck misses in the whole store")
	cmd.MarkFlagsOneRequired("why", "undo")
	cmd.MarkFlagsMutuallyExclusive("why", "undo")
	cmd.MarkFlagsMutuallyExclusive("why", "missing")

	return cmd
}

func runDelete(ctx context.Context, a *app.App, run, why string, yes bool) error {
	session, err := a.Connect(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	decision := runs.Decision{Who: app.UserName(), Why: why, At: time.Now().UTC()}
	other, err := drivenElsewhere(ctx, session, runs.Run(run))
	if err != nil {
		return err
	}
	if other.Namespace != "" {
		return fault.New(fault.Invalid, "run %s may be open in the namespace %s of the Temporal at %s, for which %s "+
			"claimed it at %s, and this command asks the Temporal at %s: delete the run there. If that Temporal is "+
			"gone, take the run over with %s, stop it with %s, and delete it then", run, other.Name, other.Address,
			other.Who, other.At.Format(time.DateTime), session.Endpoints.Temporal, a.Typed("train %s --detach", run),
			a.Typed("stop %s --why TEXT", run))
	}
	st, err := status.ReadStored(ctx, session.Store, run)
	if err != nil {
		return err
	}
	question := fmt.Sprintf("delete run %s, with %s?", run, terminal.Count(st.Epoch, "epoch"))
	if !yes && !a.JSON && !terminal.Confirm(a.Out, question) {
		return fault.New(fault.Invalid, "run %s was not deleted", run)
	}
	isOpen := func() (bool, error) { return isOpen(ctx, session, run) }
	if err := collect.Delete(ctx, session.Store, runs.Run(run), decision, isOpen); err != nil {
		return err
	}

	return a.Print(map[string]string{"deleted": run}, func(out io.Writer) {
		terminal.Line(out, "%s is deleted; %s takes it back. After %s UTC, %s removes what it alone needs, and frees "+
			"its name", run, a.Typed("delete --undo %s", run), decision.At.Add(runs.Grace).Format(time.DateTime),
			a.Typed("gc"))
	})
}

// isOpen reports whether the workflow of a run is open.
func isOpen(ctx context.Context, session *app.Session, run string) (bool, error) {
	description, err := session.Temporal.DescribeWorkflow(ctx, run, "")
	var none *serviceerror.NotFound
	if errors.As(err, &none) {
		return false, nil
	}
	if err != nil {
		return false, fault.New(fault.Transient, "ask Temporal for run %s: %w", run, err)
	}

	return description.Status == enums.WORKFLOW_EXECUTION_STATUS_RUNNING, nil
}
