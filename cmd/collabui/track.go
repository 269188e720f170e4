package main

import (
	"context"
	"errors"
	"io"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/interop"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
)

// trackOptions are the flags of track.
type trackOptions struct {
	to         string
	experiment string
	once       bool
}

func trackCmd(a *app) *cobra.Command {
	var o trackOptions
	c := &cobra.Command{
		Use:   "track RUN --to KIND=SERVER",
		Short: "Send the parameters, curves and results of a run to a tracking server, until the run ends",
		Long: `track sends what a run has recorded to a tracking server, epoch by epoch, and follows the run until it
ends; ctrl-C stops following. Started again, it continues: what the server has is not sent again. One track at a time
may follow a run.

Of MLflow, MLFLOW_TRACKING_TOKEN, or MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, are sent if they are set.

Weights & Biases is reached by its own package wandb: ` + envPython + ` names an interpreter that has it. Its variables
are WANDB_API_KEY, WANDB_DIR and others; with WANDB_MODE=offline it writes files only, for ` + "`wandb sync`" + `.`,
		Example: "  collabui track quickstart --to mlflow=http://127.0.0.1:5000\n" +
			"  collabui track quickstart --to mlflow=http://127.0.0.1:5000 --experiment agents --once\n" +
			"  WANDB_MODE=offline collabui track quickstart --to wandb=agents",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return a.runTrack(c.Context(), o, args[0]) },
	}
	f := c.Flags()
	f.StringVar(&o.to, "to", "", "`SERVER`: mlflow=URL, wandb=PROJECT or wandb=ENTITY/PROJECT")
	f.StringVar(&o.experiment, "experiment", "collabui", "MLflow: `NAME` of the experiment; created if missing")
	f.BoolVar(&o.once, "once", false, "send what there is, and do not follow the run")

	return c
}

// tracker returns the server that --to names.
func (o trackOptions) tracker() (interop.Tracker, error) {
	kind, address, _ := strings.Cut(o.to, "=")
	if kind == "wandb" {
		return wandb(address)
	}
	u, err := url.Parse(address)
	if kind != "mlflow" || err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fault.New(fault.Invalid,
			"--to must be mlflow=URL with the address of a tracking server, such as mlflow=http://127.0.0.1:5000, or "+
				"wandb=PROJECT, not %q", o.to)
	}
	if u.User != nil {
		return nil, fault.New(fault.Invalid, "--to must not contain a password: set MLFLOW_TRACKING_USERNAME and "+
			"MLFLOW_TRACKING_PASSWORD")
	}
	if o.experiment == "" {
		return nil, fault.New(fault.Invalid, "--experiment must not be empty")
	}

	return &interop.MLflow{
		URL: address, Experiment: o.experiment, Token: os.Getenv("MLFLOW_TRACKING_TOKEN"),
		User: os.Getenv("MLFLOW_TRACKING_USERNAME"), Password: os.Getenv("MLFLOW_TRACKING_PASSWORD"),
	}, nil
}

// wandbProject is PROJECT or ENTITY/PROJECT.
var wandbProject = regexp.MustCompile(`^(?:([\w-]+)/)?([\w.-]+)$`)

func wandb(project string) (interop.Tracker, error) {
	m := wandbProject.FindStringSubmatch(project)
	if m == nil {
		return nil, fault.New(fault.Invalid, "--to wandb=%s: want PROJECT or ENTITY/PROJECT", project)
	}
	python := os.Getenv(envPython)
	if python == "" {
		return nil, fault.New(fault.Invalid, "--to wandb needs an interpreter with the package wandb: name it in %s",
			envPython)
	}

	return &interop.Wandb{Python: python, Entity: m[1], Project: m[2]}, nil
}

// tracked is what a track has sent.
type tracked struct {
	Run     string   `json:"run"`
	Batches []string `json:"batches"` // now; what the server had before is not among them
	Points  int      `json:"points"`
	Ended   bool     `json:"ended"`

	sent int // epochs of the run, when all that it had was sent
}

func (x tracked) text(w io.Writer) {
	say(w, "%d values sent in %d batches: %s", x.Points, len(x.Batches), strings.Join(x.Batches, ", "))
	if !x.Ended {
		say(w, "run %s has not ended: track it again to continue", x.Run)
	}
}

// trackEvery is how often a run is looked at.
const trackEvery = 5 * time.Second

func (a *app) runTrack(ctx context.Context, o trackOptions, run string) (err error) {
	t, err := o.tracker()
	if err != nil {
		return err
	}
	defer a.guard(a.leave)()
	b, _, err := a.bucket()
	if err != nil {
		return err
	}
	if _, err := runs.Run(run).Find(ctx, b); err != nil {
		return err
	}
	x := tracked{Run: run, Batches: []string{}}
	if c, ok := t.(io.Closer); ok {
		defer func() { err = errors.Join(err, c.Close()) }()
	}
	said := ""
	for {
		err := x.send(ctx, b, t)
		if x.Ended && err == nil || o.once || err != nil && ctx.Err() == nil && fault.KindOf(err) != fault.Transient {
			if err != nil {
				return err
			}
			break
		}
		if err != nil && ctx.Err() == nil && err.Error() != said && !a.json {
			said = err.Error()
			say(a.err, "%v; trying again", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(trackEvery):
		}
		if err := a.gone(ctx); err != nil {
			return err
		}
		if ctx.Err() != nil {
			break
		}
	}

	return a.print(x, x.text)
}

// send sends what the server does not have yet.
func (x *tracked) send(ctx context.Context, b store.Bucket, t interop.Tracker) error {
	run := runs.Run(x.Run)
	committed, err := run.Committed(ctx, b)
	if err != nil {
		return err
	}
	ended, err := run.End().Exists(ctx, b)
	if err != nil || !ended && committed > 0 && committed == x.sent {
		return err // nothing is new
	}
	r, err := interop.Read(ctx, b, run)
	if err != nil {
		return err
	}
	params, err := interop.Params(r.Spec)
	if err != nil {
		return fault.As(fault.Fatal, err)
	}
	batches := r.Batches()
	has, err := t.Begin(ctx, x.Run, params, batches)
	if err != nil {
		return err
	}
	for _, batch := range batches {
		if has[batch.Name] {
			continue
		}
		if err := t.Log(ctx, batch); err != nil {
			return err
		}
		x.Batches, x.Points = append(x.Batches, batch.Name), x.Points+len(batch.Points)
	}
	x.sent = len(r.Epochs)
	if !r.Ended {
		return nil
	}
	if err := t.End(ctx); err != nil {
		return err
	}
	x.Ended = true

	return nil
}
