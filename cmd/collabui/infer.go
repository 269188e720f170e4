package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"

	"github.com/collabui/collabui/internal/method/chat"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/policy/infer"
	"github.com/collabui/collabui/internal/policy/llm"
	"github.com/collabui/collabui/internal/policy/serving"
	"github.com/collabui/collabui/internal/process/config"
	"github.com/collabui/collabui/workers/catalog"
)

// policyTimeout is of one call to one policy server.
const policyTimeout = 2 * time.Minute

func inferCmd(a *app) *cobra.Command {
	c := &cobra.Command{Use: "infer RUN", Short: "Use a trained system: as an OpenAI-compatible endpoint, live in an environment, or for one request", Args: cobra.ExactArgs(1),
		Example: "  collabui infer quickstart --listen 127.0.0.1:8080\n  collabui infer quickstart --environment webtasks --episodes 3 --screenshots shots\n  collabui infer quickstart --epoch base --prompt request.json --json",
		Long: "infer lets all agents of a system decide together, as evaluation lets them: its temperatures, its topologies in turn (by seed, or by episode), its vote.\n\nAs an endpoint: POST /v1/chat/completions takes one screen as the last user message and answers with the winner's words; \"collabui\": {\"matrix\": true} adds what every agent said.\n" +
			"Clients must send the key in " + infer.EnvKey + ", where that is set, as a bearer token; without one only this machine is answered.\nOf the request: " + infer.Forms +
			".\n\nWith --environment it plays episodes, those of the evaluation from number --seed on, and shows every step; with --prompt it answers one request and shows the matrix."}
	epoch := c.Flags().String("epoch", "", "whose system: a number, best or base (default: the best of a run that has ended, else the newest)")
	listen := c.Flags().String("listen", "127.0.0.1:8080", "serve on `HOST:PORT`; port 0 picks one")
	prompt := c.Flags().String("prompt", "", "answer one request from this `FILE`, or - for standard input")
	name := c.Flags().String("environment", "", "play in this environment: a name of the run's specification or of --spec, or an adapter")
	seed := c.Flags().Int("seed", 0, "with --environment the number of the first episode; with --prompt the seed")
	var l infer.Live
	c.Flags().StringVar(&l.Template, "task", "", "play this template only")
	c.Flags().StringVar(&l.Split, "split", domain.SplitVal, "of the environment")
	c.Flags().IntVar(&l.Episodes, "episodes", 1, "episodes to play")
	c.Flags().StringVar(&l.Screenshots, "screenshots", "", "write the screen of every step into `FOLDER`")
	f := &envFlags{}
	f.add(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		for flag, needs := range map[string]string{"task": *name, "split": *name, "episodes": *name, "screenshots": *name, "seed": *name + *prompt} {
			if c.Flags().Changed(flag) && needs == "" {
				return fault.New(fault.Invalid, "--%s goes with --environment (--seed with --prompt, too)", flag)
			}
		}
		if *prompt != "" && *name != "" || c.Flags().Changed("listen") && *prompt+*name != "" {
			return fault.New(fault.Invalid, "give one of --listen, --environment and --prompt")
		}
		b, e, err := a.bucket()
		if err != nil {
			return err
		}
		sys, err := infer.Find(c.Context(), b, args[0], *epoch)
		if err != nil {
			return err
		}
		model, err := llm.PolicyServers(e.Policies(), e.PolicyKey, 0)
		if err != nil {
			return err
		}
		if err := sys.Load(c.Context(), model.Load); err != nil {
			return err
		}
		switch {
		case *name != "":
			l.First = *seed
			return a.inferLive(c.Context(), sys, model, f, *name, l)
		case *prompt != "":
			return a.inferOnce(c.Context(), sys, model, *prompt, uint64(*seed))
		}
		return a.inferServe(c.Context(), sys, model, *listen)
	}
	return c
}

// inferServe answers requests until the process is told to end.
func (a *app) inferServe(ctx context.Context, sys infer.System, model chat.Model, addr string) error {
	key, err := config.Secret(infer.EnvKey)
	if err != nil {
		return err
	}
	l, err := serving.Listen(addr, key, infer.EnvKey)
	if err != nil {
		return err
	}
	url := "http://" + l.Addr().String() + "/v1"
	if err := a.print(map[string]any{"url": url, "model": sys.Run, "epoch": sys.Epoch, "policies": sys.Digests(), "key": key != ""}, func(w io.Writer) {
		_, _ = fmt.Fprintf(w, "%s: %d agents decide at %s, model %q\n", sys.Name(), len(sys.Policies), url, sys.Run)
	}); err != nil {
		return err
	}
	return serving.Serve(ctx, l, infer.NewServer(sys, model, key), inferDrain)
}

// maxRequest bounds a request that is read from a file, in bytes.
const maxRequest = 1 << 20

// inferOnce answers one request.
func (a *app) inferOnce(ctx context.Context, sys infer.System, model chat.Model, file string, seed uint64) error {
	in := io.Reader(os.Stdin)
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return fault.New(fault.Invalid, "read the request: %w", err)
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	raw, err := io.ReadAll(io.LimitReader(in, maxRequest+1))
	if err != nil {
		return fault.New(fault.Invalid, "read the request: %w", err)
	}
	if len(raw) > maxRequest {
		return fault.New(fault.Invalid, "the request is larger than %d bytes", maxRequest)
	}
	v, err := infer.ParseView(string(raw), sys.Spec.Family())
	if err != nil {
		return err
	}
	d, err := sys.Decide(ctx, model, v, infer.Options{Seed: seed, Whole: true})
	if err != nil {
		return err
	}
	return a.print(sys.NewAnswer(d, true), func(w io.Writer) {
		printMatrix(w, infer.Short(d.Decision, d.Rounds, d.Votes))
		if len(d.Votes) == 0 {
			_, _ = fmt.Fprintln(w, "no answer holds an action: nothing is decided")
			return
		}
		_, _ = fmt.Fprintf(w, "%d of %d cells, by %s:\n%s\n", d.Votes[0].Votes, len(d.Decision.Cells), d.Votes[0].Rule, plain(d.Text))
	})
}

// inferLive plays episodes and shows every step.
func (a *app) inferLive(ctx context.Context, sys infer.System, model chat.Model, f *envFlags, name string, l infer.Live) error {
	o := sys.Spec.Where(name)
	if _, ok := sys.Spec.Environments[name]; !ok && name != sys.Spec.Environment {
		var err error
		if o, err = f.options(name); err != nil {
			return err
		}
	}
	suite, err := catalog.OpenEnvironment(o, catalog.Places{Browsers: 1, Tabs: 1})
	if err != nil {
		return err
	}
	defer func() { _ = suite.Close() }()
	l.Suite = suite
	if m := sys.Spec.Summariser.Model; m != spec.RoleTemplate {
		_, _ = fmt.Fprintf(a.err, "note: the run's histories were written by the model %s; here fixed rules write them\n", m)
	}
	return sys.Play(ctx, model, l, a.event)
}

// event shows one event of an episode.
func (a *app) event(e infer.Event) error {
	if a.json {
		return json.NewEncoder(a.out).Encode(e)
	}
	var err error
	say := func(format string, args ...any) {
		if err == nil {
			_, err = fmt.Fprintln(a.out, plain(fmt.Sprintf(format, args...)))
		}
	}
	switch e.Event {
	case "episode":
		say("episode %d: %s, task %s of %s, at most %d steps", e.Episode, e.Environment, e.Task.Template, e.Task.Split, e.Task.MaxSteps)
		say("goal: %s", agents.Line(e.Goal, 300))
	case "step":
		say("step %d: %d elements, %d shown", e.Step, e.Elements, e.Shown)
		printMatrix(a.out, e.Matrix)
		say("  executed: %s (%d votes, %s)", e.Executed.JSON(), e.Vote.Votes, e.Vote.Rule)
		if e.Invalid != "" {
			say("  nothing done: %s", agents.Line(e.Invalid, 200))
		}
	case "end":
		how := "not solved"
		if e.Outcome.Success {
			how = "solved"
		}
		if e.Outcome.Truncated {
			how += ", out of steps"
		}
		say("end: %s after %d steps, %d of them without effect (raw score of the environment: %g)", how, e.Outcome.Steps, e.Outcome.Invalid, *e.Raw)
		for _, k := range sortedKeys(e.Outcome.Metrics) {
			m := e.Outcome.Metrics[k]
			say("  %s: %g of %d", k, m.Sum, m.N)
		}
	}
	return err
}

// printMatrix shows what every agent said, a line per agent: * marks what agrees with the vote, a dot what was not asked for any more.
func printMatrix(w io.Writer, cells []infer.Asked) {
	agent := -1
	for _, c := range cells {
		if c.Agent != agent {
			if agent >= 0 {
				_, _ = fmt.Fprintln(w)
			}
			agent = c.Agent
			_, _ = fmt.Fprintf(w, "  agent %-2d", agent)
		}
		said := "no action" // did not parse
		switch {
		case !c.Asked:
			said = "·"
		case c.Canonical != "":
			said = agents.Line(c.Canonical, 32)
		}
		if c.Agrees {
			said += " *"
		}
		_, _ = fmt.Fprintf(w, " %-36s", plain(said))
	}
	_, _ = fmt.Fprintln(w)
}

// plain takes out what could steer a terminal: pages and models write the text.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || unicode.IsPrint(r) {
			return r
		}
		return -1
	}, s)
}

// inferDrain is what requests under way get when the endpoint is told to end.
const inferDrain = 30 * time.Second
