package run

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/cmd/collabui/terminal"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/care/fork"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/workers/catalog"
	"github.com/collabui/collabui/workflows"
)

// forkOptions are the flags of fork.
type forkOptions struct {
	up     app.ServiceOptions
	name   string
	epoch  int
	set    []string
	labels []string
	why    string
	plan   bool
	detach bool
}

func forkCmd(a *app.App) *cobra.Command {
	var options forkOptions
	cmd := &cobra.Command{
		Use:   "fork RUN --epoch K --name NEW",
		Short: "Make a new run of the first epochs of a run, with other values if you like",
		Long: `fork makes a new run that shares everything of a run up to an epoch, and runs it. 0 is the base policy.
With --set, values of the specification are other ones from the next epoch on. What does not depend on them is shared
beyond that epoch, too; what does is recomputed, and nothing else: unchanged, a fork ends with the digest of its
original, without a model call or an optimiser step. With --label, cells of the next epoch have other labels than the
critic gave them: the pairs of their slots are made again, and the agents trained again. It prints first what stays
valid. The original is not changed, and may go on meanwhile.`,
		Example: "  collabui fork quickstart --epoch 2 --name softer --set train.beta=0.5 --plan\n" +
			"  collabui fork quickstart --epoch 4 --name longer --set epochs=8\n" +
			"  collabui fork quickstart --epoch 1 --name mended --label 17/3/0/2=0 --why 'it closed the wrong tab'",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runFork(cmd.Context(), a, options, args[0]) },
	}
	options.addFlags(cmd.Flags())

	return cmd
}

func (o *forkOptions) addFlags(flags *pflag.FlagSet) {
	flags.IntVar(&o.epoch, "epoch", -1, "the last epoch that is shared; 0 is the base policy")
	flags.StringVar(&o.name, "name", "", "name of the new run")
	flags.StringArrayVar(&o.set, "set", nil, "another value from the next epoch on, as `KEY=VALUE`; may be repeated")
	flags.StringArrayVar(&o.labels, "label", nil,
		"another label of a cell of the next epoch, as `SLOT/STEP/AGENT/ROUND=LABEL`: 1 right, 0 wrong, -1 uncertain")
	flags.StringVar(&o.why, "why", "", "the reason, recorded with the new run")
	flags.BoolVar(&o.plan, "plan", false, "only print what stays valid and what is recomputed")
	flags.BoolVar(&o.detach, "detach", false, "start the new run and return")
	o.up.AddFlags(flags)
}

func runFork(ctx context.Context, a *app.App, options forkOptions, run string) error {
	if options.epoch < 0 || options.name == "" {
		return fault.New(fault.Invalid, "--epoch and --name are required: where to fork, and the name of the new run")
	}
	typed, err := assignments(options.set)
	if err != nil {
		return err
	}
	cells, err := relabels(options.labels)
	if err != nil {
		return err
	}
	var session *app.Session
	if options.plan {
		session, err = a.ConnectToRead(ctx)
	} else {
		session, err = a.StartAndConnect(ctx, options.up)
	}
	if err != nil {
		return err
	}
	defer session.Close()
	f, err := fork.Plan(ctx, session.Store, fork.Request{
		Run: runs.Run(run), Name: runs.Run(options.name), Epoch: options.epoch, Who: app.UserName(), Why: options.why,
		At:    time.Now().UTC(),
		Typed: typed, Cells: cells,
	}, typedHere(), catalog.All{})
	if err != nil {
		return err
	}
	if err := a.Print(newForkSummary(options.name, f), newForkSummary(options.name, f).text); err != nil ||
		options.plan {
		return err
	}

	bar := a.NewBar(options.name)
	count := bar.Objects()
	err = f.Make(ctx, session.Store, func(n int) { count(n, f.Objects) })
	bar.Clear()
	if err != nil {
		return err
	}

	return goOn(ctx, session, workflows.RunInput{Name: options.name}, options.detach)
}

// forkSummary is the output of fork.
type forkSummary struct {
	Name string `json:"name"`
	runs.Origin
	Objects    int    `json:"objects"`    // objects that are shared
	Whole      int    `json:"whole"`      // the last epoch that stays valid as a whole
	Epochs     int    `json:"epochs"`     // of the fork
	Recomputed string `json:"recomputed"` // first step of the next epoch that does not stay valid; empty if all do
	Tests      bool   `json:"tests"`      // evaluations at the end stay valid for systems that are shared
}

func newForkSummary(name string, f *fork.Fork) forkSummary {
	summary := forkSummary{
		Name: name, Origin: f.Origin, Objects: f.Objects, Whole: f.Whole, Epochs: f.Epochs, Tests: f.Tests,
	}
	if f.From != 0 {
		summary.Recomputed = f.From.String()
	}

	return summary
}

func (x forkSummary) text(out io.Writer) {
	terminal.Line(out, "%s is a fork of %s after epoch %d", x.Name, x.Run, x.Epoch)
	for _, key := range x.Values.Keys() {
		terminal.Line(out, "  %s is %s", key, x.Values[key])
	}
	terminal.Line(out, "stays valid: stage 1 and %s; shared: %s", terminal.Count(x.Whole, "whole epoch"),
		terminal.Count(x.Objects, "object"))
	switch {
	case x.Recomputed != "":
		terminal.Line(out, "recomputed: epoch %d from its %s on, and what follows", x.Whole+1, x.Recomputed)
	case x.Whole+1 == x.Epochs:
		terminal.Line(out, "played: epoch %d", x.Epochs)
	case x.Whole < x.Epochs:
		terminal.Line(out, "played: epochs %d to %d", x.Whole+1, x.Epochs)
	}
	if !x.Tests {
		terminal.Line(out, "recomputed: all evaluations at the end")
	}
}

// relabels reads SLOT/STEP/AGENT/ROUND=LABEL arguments.
func relabels(args []string) (out []runs.Relabel, err error) {
	for _, arg := range args {
		var relabel runs.Relabel
		const form = "%d/%d/%d/%d=%d"
		_, bad := fmt.Sscanf(arg, form, &relabel.Slot, &relabel.Step, &relabel.Agent, &relabel.Round, &relabel.Label)
		whole := fmt.Sprintf(form, relabel.Slot, relabel.Step, relabel.Agent, relabel.Round,
			relabel.Label) == arg // Sscanf ignores what follows
		if bad != nil || !whole || relabel.Label < -1 || relabel.Label > 1 {
			return nil, fault.New(fault.Invalid,
				"--label %s: expected SLOT/STEP/AGENT/ROUND=LABEL such as 17/3/0/2=0, "+
					"with the label 1 (right), 0 (wrong) or -1 (uncertain), and --label again for another one", arg)
		}
		out = append(out, relabel)
	}

	return out, nil
}
