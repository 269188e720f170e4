package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/care/collect"
	"github.com/collabui/collabui/internal/records/runs"
)

func gcCmd(a *app) *cobra.Command {
	var policy collect.Policy
	var days int
	var dry bool
	c := &cobra.Command{
		Use:   "gc",
		Short: "Remove from the store what nothing needs",
		Long: `gc removes what belongs to deleted runs alone, blobs that nothing refers to, and checkpoints of training
that has ended. With --keep-epochs and --keep-calls it also removes old policies and recorded calls of runs that have
ended. What a line accepts, or accepted, is kept.

It may run beside runs, forks and copies: objects younger than --grace stay, and everything goes into a trash first,
from which delete --undo takes it back. It is gone when gc has run twice more, each time after another --grace. A copy
or a fork that was cut short is removed when a second gc, after --grace, finds it as the first one did. Cut short, gc is
repeated.

gc removes nothing if a LIST of the store does not show what is there, or if more would go than deletions, ended
training and retention explain: see --dry-run, and then --force.`,
		Example: "  collabui gc --dry-run\n  collabui gc --keep-epochs 3 --keep-calls 30",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return a.runGC(c.Context(), policy, days, dry) },
	}
	f := c.Flags()
	f.BoolVar(&dry, "dry-run", false, "only say what would be removed")
	f.DurationVar(&policy.Grace, "grace", 24*time.Hour,
		"keep objects that are younger: longer than the longest step between writing a policy and recording it")
	f.IntVar(&policy.Epochs, "keep-epochs", 0,
		"of runs that have ended, keep the policies of the best epoch and of the last `N`; 0 keeps all")
	f.IntVar(&days, "keep-calls", 0, "of runs that have ended, keep recorded calls for `DAYS`; 0 keeps all")
	f.BoolVar(&policy.Force, "force", false, "remove even unusually much that no deletion explains")

	return c
}

// runGC collects garbage, with recorded calls older than some days, or only reports what it would remove.
func (a *app) runGC(ctx context.Context, policy collect.Policy, days int, dry bool) error {
	if policy.Grace < time.Minute || policy.Epochs < 0 || days < 0 {
		return fault.New(fault.Invalid, "expected a --grace of at least 1m, and --keep-epochs and --keep-calls from 0")
	}
	b, _, err := a.bucket()
	if err != nil {
		return err
	}
	policy.Who, policy.Calls = userName(), time.Duration(days)*24*time.Hour
	v := a.viewer("")
	report, err := collect.Collect(ctx, b, policy, dry, v.objects())
	v.clear()
	if err != nil {
		return err
	}

	return a.print(report, func(w io.Writer) {
		would := ""
		if dry {
			would = "would be "
		}
		line := func(t collect.Tally, what string) {
			say(w, "%8d objects, %10s %s", t.Objects, megabytes(t.Bytes), what)
		}
		line(collect.Tally{Objects: report.Objects, Bytes: report.Bytes}, "in the store before")
		line(report.Removed, would+"put into the trash: of deleted runs, checkpoints, recorded calls")
		line(report.Trashed, would+"put into the trash: blobs that nothing refers to")
		line(report.Freed, would+"removed from the trash for good")
		line(report.Restored, would+"brought back from the trash")
		if report.Uploads > 0 {
			say(w, "%8d uploads that were cut short %saborted", report.Uploads, would)
		}
		if report.Unexplained > 0 {
			say(w, "%d of these blobs were not named by anything that %sremoved: imports that were not used, or a "+
				"store that does not show everything", report.Unexplained, would)
		}
		if len(report.Runs) > 0 {
			say(w, "nothing is left of %s", strings.Join(report.Runs, ", "))
		}
		if len(report.Unfinished) > 0 {
			say(w, "never finished, and removed unless a copy or a fork continues: %s",
				strings.Join(report.Unfinished, ", "))
		}
	})
}

func deleteCmd(a *app) *cobra.Command {
	var why string
	var undo, missing bool
	c := &cobra.Command{
		Use:   "delete [RUN]",
		Short: "Delete a run that nothing else needs, or take back what was deleted",
		Long: `delete hides a run at once, and lets gc remove it. It refuses a run that goes on, whose system a line
accepts or accepted, that has forks, or with whose policies another run began.

--undo takes a deleted run back, with everything that it refers to: from the trash, where objects are until gc has run
twice more after it removed them, and from the versions of the bucket, if it keeps them. It refuses a run whose name
another run has by now. With --missing it takes back what a run that exists lacks, or, without RUN, everything that
fsck misses in the store. It reports what neither the trash nor the bucket has any more: see copy. It may be
repeated.`,
		Example: "  collabui delete try-7 --why 'a wrong prompt' && collabui gc\n  collabui delete try-7 --undo\n" +
			"  collabui delete quickstart --undo --missing\n  collabui delete --undo --missing",
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			run := append(args, "")[0]
			switch {
			case run == "" && !missing:
				return fault.New(fault.Invalid, "name a RUN, or use --undo --missing for the whole store")
			case undo:
				return a.runUndo(c.Context(), run, missing)
			}

			return a.runDelete(c.Context(), run, why)
		},
	}
	f := c.Flags()
	f.StringVar(&why, "why", "", "the reason for which the run is deleted, which is recorded")
	f.BoolVar(&undo, "undo", false, "take back a deleted run")
	f.BoolVar(&missing, "missing", false,
		"with --undo: take back what RUN lacks, or what fsck misses in the whole store")
	c.MarkFlagsOneRequired("why", "undo")
	c.MarkFlagsMutuallyExclusive("why", "undo")
	c.MarkFlagsMutuallyExclusive("why", "missing")

	return c
}

func (a *app) runDelete(ctx context.Context, run, why string) error {
	session, err := a.connect(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	d := runs.Decision{Who: userName(), Why: why, At: time.Now().UTC()}
	other, err := session.drivenElsewhere(ctx, runs.Run(run))
	if err != nil {
		return err
	}
	if other.Namespace != "" {
		return fault.New(fault.Invalid, "run %s may be open in the namespace %s of the Temporal at %s, for which %s "+
			"claimed it at %s, and this command asks the Temporal at %s: delete the run there. If that Temporal is "+
			"gone, take the run over with %s, stop it with %s, and delete it then", run, other.Name, other.Address,
			other.Who, other.At.Format(time.DateTime), session.ends.Temporal, a.typed("train %s --detach", run),
			a.typed("stop %s --why TEXT", run))
	}
	goesOn := func() (bool, error) { return session.goesOn(ctx, run) }
	if err := collect.Delete(ctx, session.bucket, runs.Run(run), d, goesOn); err != nil {
		return err
	}

	return a.print(map[string]string{"deleted": run}, func(w io.Writer) {
		say(w, "%s is deleted; %s removes what it alone needs", run, a.typed("gc"))
	})
}

// goesOn reports whether the workflow of a run is open.
func (s *session) goesOn(ctx context.Context, run string) (bool, error) {
	d, err := s.temporal.DescribeWorkflowExecution(ctx, run, "")
	var none *serviceerror.NotFound
	if errors.As(err, &none) {
		return false, nil
	}
	if err != nil {
		return false, fault.New(fault.Transient, "ask Temporal for run %s: %w", run, err)
	}

	return d.WorkflowExecutionInfo.Status == enums.WORKFLOW_EXECUTION_STATUS_RUNNING, nil
}
