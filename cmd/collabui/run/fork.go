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
	"github.com/collabui/collabui/internal/store/fork"
	"github.com/collabui/collabui/internal/store/runs"
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
	var o forkOptions
	c := &cobra.Command{
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
		RunE: func(c *cobra.Command, args []string) error { return runFork(c.Context(), a, o, args[0]) },
	}
	o.addFlags(c.Flags())

	return c
}

func (o *forkOptions) addFlags(f *pflag.FlagSet) {
	f.IntVar(&o.epoch, "epoch", -1, "the last epoch that is shared; 0 is the base policy")
	f.StringVar(&o.name, "name", "", "name of the new run")
	f.StringArrayVar(&o.set, "set", nil, "another value from the next epoch on, as `KEY=VALUE`; may be repeated")
	f.StringArrayVar(&o.labels, "label", nil,
		"another label of a cell of the next epoch, as `SLOT/STEP/AGENT/ROUND=LABEL`: 1 right, 0 wrong, -1 uncertain")
	f.StringVar(&o.why, "why", "", "the reason, recorded with the new run")
	f.BoolVar(&o.plan, "plan", false, "only print what stays valid and what is recomputed")
	f.BoolVar(&o.detach, "detach", false, "start the new run and return")
	o.up.AddFlags(f)
}

func runFork(ctx context.Context, a *app.App, o forkOptions, run string) error {
	if o.epoch < 0 || o.name == "" {
		return fault.New(fault.Invalid, "--epoch and --name are required: where to fork, and the name of the new run")
	}
	typed, err := assignments(o.set)
	if err != nil {
		return err
	}
	cells, err := relabels(o.labels)
	if err != nil {
		return err
	}
	s, err := a.StartAndConnect(ctx, o.up)
	if err != nil {
		return err
	}
	defer s.Close()
	f, err := fork.Plan(ctx, s.Store, fork.Request{
		Run: runs.Run(run), Name: runs.Run(o.name), Epoch: o.epoch, Who: app.UserName(), Why: o.why, At: time.Now().UTC(),
		Typed: typed, Cells: cells,
	}, typedHere(), catalog.All{})
	if err != nil {
		return err
	}
	if err := a.Print(newForked(o.name, f), newForked(o.name, f).text); err != nil || o.plan {
		return err
	}

	bar := a.NewBar(o.name)
	count := bar.Objects()
	err = f.Make(ctx, s.Store, func(n int) { count(n, f.Objects) })
	bar.Clear()
	if err != nil {
		return err
	}

	return goOn(ctx, s, workflows.RunInput{Name: o.name}, o.detach)
}

// forked is the output of fork.
type forked struct {
	Name string `json:"name"`
	runs.Origin
	Objects    int    `json:"objects"`    // objects that are shared
	Whole      int    `json:"whole"`      // the last epoch that stays valid as a whole
	Recomputed string `json:"recomputed"` // first step of the next epoch that does not stay valid; empty if all do
	Tests      bool   `json:"tests"`      // evaluations at the end stay valid for systems that are shared
}

func newForked(name string, f *fork.Fork) forked {
	x := forked{Name: name, Origin: f.Origin, Objects: f.Objects, Whole: f.Whole, Tests: f.Tests}
	if f.From != 0 {
		x.Recomputed = f.From.String()
	}

	return x
}

func (x forked) text(w io.Writer) {
	terminal.Line(w, "%s is a fork of %s after epoch %d", x.Name, x.Run, x.Epoch)
	for _, key := range x.Values.Keys() {
		terminal.Line(w, "  %s is %s", key, x.Values[key])
	}
	terminal.Line(w, "stays valid: stage 1 and %d whole epochs; %d objects are shared", x.Whole, x.Objects)
	if x.Recomputed != "" {
		terminal.Line(w, "recomputed: epoch %d from its %s on, and what follows", x.Whole+1, x.Recomputed)
	}
	if !x.Tests {
		terminal.Line(w, "recomputed: all evaluations at the end")
	}
}

// relabels reads SLOT/STEP/AGENT/ROUND=LABEL arguments.
func relabels(args []string) (out []runs.Relabel, err error) {
	for _, arg := range args {
		var c runs.Relabel
		const form = "%d/%d/%d/%d=%d"
		_, bad := fmt.Sscanf(arg, form, &c.Slot, &c.Step, &c.Agent, &c.Round, &c.Label)
		whole := fmt.Sprintf(form, c.Slot, c.Step, c.Agent, c.Round, c.Label) == arg // Sscanf ignores what follows
		if bad != nil || !whole || c.Label < -1 || c.Label > 1 {
			return nil, fault.New(fault.Invalid,
				"--label %s: expected SLOT/STEP/AGENT/ROUND=LABEL such as 17/3/0/2=0, "+
					"with the label 1 (right), 0 (wrong) or -1 (uncertain), and --label again for another one", arg)
		}
		out = append(out, c)
	}

	return out, nil
}
