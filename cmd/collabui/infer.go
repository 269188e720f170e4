package main

import (
	"context"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/policy/infer"
	"github.com/collabui/collabui/internal/policy/llm"
	"github.com/collabui/collabui/internal/policy/serving"
	"github.com/collabui/collabui/internal/process/config"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/workers/catalog"
)

// inferDrain is the time that open requests get when the endpoint stops.
const inferDrain = 30 * time.Second

// maxRequest bounds a request that is read from a file, in bytes.
const maxRequest = 1 << 20

// inferOptions are the flags of infer.
type inferOptions struct {
	line        string
	epoch       string // a number, best or base
	listen      string
	tls         serving.TLS
	prompt      string
	environment string
	seed        int
	live        infer.Live
	env         envOptions
	given       func(flag string) bool // reports whether the user set a flag
}

func inferCmd(a *app) *cobra.Command {
	var o inferOptions
	c := &cobra.Command{
		Use:   "infer RUN|--line LINE",
		Short: "Use a trained system: as an OpenAI-compatible endpoint, live in an environment, or for one request",
		Long: `infer lets all agents of a system decide together as in evaluation: with its temperatures, its
topologies in turn (by seed, or by episode) and its vote.

As an endpoint it answers POST /v1/chat/completions, whole or streamed: one screen as the last user message, answered
with the winner's words; "collabui": {"matrix": true} adds what every agent said. The header ` + infer.IgnoredHeader + `
names what of a request had no effect. Clients must send the key in ` + infer.EnvKey + ` as a bearer token if that is
set; without a key it answers this machine only. Of the request: ` + infer.Forms + `.

With --line it serves the system that a line accepts, under the line's name, and switches to the next accepted one
without dropping a request.

With --environment it plays episodes, those of the evaluation from number --seed, and shows every step: the screen, what
every agent said and what was executed. A star marks what agrees with the vote, a dot who need not be asked. With
--screenshots it also writes the screen of every step. With --prompt it answers one request and shows the matrix.`,
		Example: "  collabui infer quickstart --listen 127.0.0.1:8080\n" +
			"  collabui infer quickstart --environment webtasks --episodes 3 --screenshots shots\n" +
			"  collabui infer quickstart --epoch base --prompt request.json --json",
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return a.runInfer(c.Context(), o, args) },
	}
	o.addFlags(c.Flags())

	return c
}

func (o *inferOptions) addFlags(f *pflag.FlagSet) {
	o.given = f.Changed
	f.StringVar(&o.line, "line", "", "instead of a run: the system that this `LINE` accepts")
	f.StringVar(&o.epoch, "epoch", "",
		"`EPOCH` of the system: a number, best or base "+
			"(default: the best of a run that has ended, otherwise the newest)")
	f.StringVar(&o.listen, "listen", "127.0.0.1:8080", "serve on `HOST:PORT`; port 0 picks one")
	tlsFlags(f, &o.tls)
	f.StringVar(&o.prompt, "prompt", "", "answer one request from this `FILE`, or - for standard input")
	f.StringVar(&o.environment, "environment", "",
		"play in this environment: a `NAME` of the run's specification or of --spec, or an adapter")
	f.IntVar(&o.seed, "seed", 0, "with --environment the number of the first episode; with --prompt the seed")
	f.StringVar(&o.live.Template, "task", "", "play only this template")
	f.StringVar(&o.live.Split, "split", domain.SplitVal, "split of the environment")
	f.IntVar(&o.live.Episodes, "episodes", 1, "number of episodes to play")
	f.StringVar(&o.live.Screenshots, "screenshots", "",
		"write the screen of every step into `FOLDER`")
	o.env.addFlags(f)
}

func (a *app) runInfer(ctx context.Context, o inferOptions, args []string) error {
	if err := o.check(); err != nil {
		return err
	}
	if err := oneOf(args, o.line, o.epoch); err != nil {
		return err
	}
	b, e, err := a.bucket()
	if err != nil {
		return err
	}
	sys, err := findSystem(ctx, b, args, o.line, o.epoch)
	if err != nil {
		return err
	}
	model, err := llm.PolicyServers(e.Policies(), llm.Config{Key: e.PolicyBearer()})
	if err != nil {
		return err
	}
	if err := sys.Load(ctx, model.Load); err != nil {
		return err
	}

	switch {
	case o.environment != "":
		return a.inferLive(ctx, sys, model, o)
	case o.prompt != "":
		return a.inferOnce(ctx, sys, model, o)
	}

	return a.inferServe(ctx, b, sys, model, o)
}

// oneOf refuses a run and a line at once, neither, and an epoch of a line.
func oneOf(args []string, line, epoch string) error {
	if (len(args) == 1) == (line != "") || line != "" && epoch != "" {
		return fault.New(fault.Invalid, "expected a run, with --epoch if you like, or --line")
	}

	return nil
}

// findSystem returns the system of a run or of a line.
func findSystem(ctx context.Context, b store.Bucket, args []string, line, epoch string) (infer.System, error) {
	if line != "" {
		return infer.OfLine(ctx, b, line)
	}

	return infer.Find(ctx, b, args[0], epoch)
}

// check refuses flags that belong to another form of infer.
func (o inferOptions) check() error {
	for _, flag := range []string{"task", "split", "episodes", "screenshots", "seed", "set"} {
		allowed := o.environment != "" || flag == "seed" && o.prompt != ""
		if o.given(flag) && !allowed {
			return fault.New(fault.Invalid, "--%s goes with --environment (--seed also with --prompt)", flag)
		}
	}
	if o.prompt != "" && o.environment != "" || o.given("listen") && o.prompt+o.environment != "" {
		return fault.New(fault.Invalid, "expected only one of --listen, --environment and --prompt")
	}
	if o.environment != "" {
		return o.env.only(o.environment)
	}

	return nil
}

// inferServe answers requests until ctx ends.
func (a *app) inferServe(
	ctx context.Context, b store.Bucket, sys infer.System, model *llm.Pool, o inferOptions,
) error {
	key, err := config.Secret(infer.EnvKey)
	if err != nil {
		return err
	}
	l, err := serving.Listen(o.listen, key, infer.EnvKey, o.tls)
	if err != nil {
		return err
	}
	url := serving.URL(l, "http") + "/v1"
	shown := map[string]any{
		"url": url, "model": sys.Model(), "run": sys.Run, "epoch": sys.Epoch, "policies": sys.Digests(),
		"key": key != "",
	}
	err = a.print(shown, func(w io.Writer) {
		say(w, "%s: %d agents decide at %s, model %q", sys.Name(), len(sys.Policies), url, sys.Model())
	})
	if err != nil {
		return err
	}

	server := infer.NewServer(sys, model, config.Live(infer.EnvKey, key))
	if sys.Line != "" {
		go server.Follow(ctx, b, sys.Line, followEvery, model.Load, a.switched)
	}

	return serving.Serve(ctx, l, server, inferDrain)
}

// followEvery is how often an endpoint looks which system its line accepts.
const followEvery = 2 * time.Second

// switched says that an endpoint answers with another system, or why it cannot.
func (a *app) switched(sys infer.System, err error) {
	if err != nil {
		say(a.err, "the system that the line accepts cannot be served yet; the one before answers: %v", err)
		return
	}
	_ = a.print(map[string]any{"run": sys.Run, "epoch": sys.Epoch, "policies": sys.Digests()}, func(w io.Writer) {
		say(w, "%s answers from now on", sys.Name())
	})
}

// inferOnce answers one request.
func (a *app) inferOnce(ctx context.Context, sys infer.System, model chat.Model, o inferOptions) error {
	raw, err := readRequest(o.prompt)
	if err != nil {
		return err
	}
	view, err := infer.ParseView(string(raw), sys.Spec.Family())
	if err != nil {
		return err
	}
	d, err := sys.Decide(ctx, model, view, infer.Options{Seed: uint64(o.seed), Whole: true})
	if err != nil {
		return err
	}

	return a.print(sys.NewAnswer(d, true), func(w io.Writer) {
		printMatrix(w, infer.Short(d.Decision, view.Observation, d.Rounds, d.Votes))
		if len(d.Votes) == 0 {
			say(w, "no answer contains an action: nothing is decided")
			return
		}
		say(w, "%d of %d cells, by %s:\n%s", d.Votes[0].Votes, len(d.Decision.Cells), d.Votes[0].Rule, d.Text)
	})
}

// readRequest reads a file, or standard input for "-".
func readRequest(file string) ([]byte, error) {
	in := io.Reader(os.Stdin)
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, fault.New(fault.Invalid, "read the request: %w", err)
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	raw, err := io.ReadAll(io.LimitReader(in, maxRequest+1))
	if err != nil {
		return nil, fault.New(fault.Invalid, "read the request: %w", err)
	}
	if len(raw) > maxRequest {
		return nil, fault.New(fault.Invalid, "the request is larger than %d bytes", maxRequest)
	}

	return raw, nil
}

// inferLive plays episodes and shows every step.
func (a *app) inferLive(ctx context.Context, sys infer.System, model chat.Model, o inferOptions) error {
	options, err := o.env.options(o.environment, sys.Spec)
	if err != nil {
		return err
	}
	suite, err := catalog.OpenEnvironment(options, catalog.Places{Browsers: 1, Tabs: 1})
	if err != nil {
		return err
	}
	defer func() { _ = suite.Close() }()
	if m := sys.Spec.Summariser.Model; m != spec.RoleTemplate {
		say(a.err, "note: the run's histories were written by the model %s; here fixed rules write them", m)
	}
	o.live.Suite, o.live.First = suite, o.seed

	return sys.Play(ctx, model, o.live, a.event)
}
