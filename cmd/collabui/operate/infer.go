package operate

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/cmd/collabui/terminal"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/config"
	"github.com/collabui/collabui/internal/httpd"
	"github.com/collabui/collabui/internal/policy/infer"
	"github.com/collabui/collabui/internal/policy/llm"
	"github.com/collabui/collabui/internal/store"
)

// inferDrain is the time that open requests get when the endpoint stops.
const inferDrain = 30 * time.Second

// inferOptions are the flags of infer.
type inferOptions struct {
	line   string
	epoch  string // a number, best or base
	listen string
	tls    httpd.TLS
}

func inferCmd(a *app.App) *cobra.Command {
	var options inferOptions
	cmd := &cobra.Command{
		Use:   "infer RUN|--line LINE",
		Short: "Serve a trained system as an OpenAI-compatible endpoint",
		Long: `infer lets all agents of a system decide together as in evaluation: with its temperatures, its
topologies in turn (by seed) and its vote.

It answers POST /v1/chat/completions, whole or streamed: one screen as the last user message, answered with the winner's
words; "collabui": {"matrix": true} adds what every agent said. The header ` + infer.IgnoredHeader + ` names what of a
request had no effect. Clients must send the key in ` + infer.EnvKey + ` as a bearer token if that is set; without a key
it answers this machine only. The last user message is ` + strings.TrimPrefix(infer.Forms, "expected ") + `.

With --line it serves the system that a line accepts, under the line's name, and switches to the next accepted one
without dropping a request.

eval lets a system play in an environment; the viewer shows every step.`,
		Example: "  collabui infer quickstart --listen 127.0.0.1:8080\n" +
			"  collabui infer quickstart --epoch base\n" +
			"  collabui infer --line mobile",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runInfer(cmd.Context(), a, options, args) },
	}
	flags := cmd.Flags()
	flags.StringVar(&options.line, "line", "", "instead of a run: the system that this `LINE` accepts")
	flags.StringVar(&options.epoch, "epoch", "",
		"`EPOCH` of the system: a number, best or base "+
			"(default: the best of a run that has ended, otherwise the newest)")
	flags.StringVar(&options.listen, "listen", "127.0.0.1:8080", "serve on `HOST:PORT`; port 0 picks one")
	app.AddTLSFlags(flags, &options.tls)

	return cmd
}

func runInfer(ctx context.Context, a *app.App, options inferOptions, args []string) error {
	if (len(args) == 1) == (options.line != "") || options.line != "" && options.epoch != "" {
		return fault.New(fault.Invalid, "expected a run, with --epoch if you like, or --line")
	}
	bucket, endpoints, err := a.OpenStore()
	if err != nil {
		return err
	}
	var sys infer.TrainedSystem
	if options.line != "" {
		sys, err = infer.OfLine(ctx, bucket, options.line)
	} else {
		sys, err = infer.Find(ctx, bucket, args[0], options.epoch)
	}
	if err != nil {
		return err
	}
	model, err := llm.PolicyServers(endpoints.Policies(), llm.Config{Key: endpoints.PolicyBearer()})
	if err != nil {
		return err
	}
	if err := sys.Load(ctx, model.Load); err != nil {
		return err
	}

	return serveSystem(ctx, a, bucket, sys, model, options)
}

// serveSystem serves a system until ctx ends.
func serveSystem(
	ctx context.Context, a *app.App, bucket store.Bucket, sys infer.TrainedSystem, model *llm.Pool,
	options inferOptions,
) error {
	key, err := config.Secret(infer.EnvKey)
	if err != nil {
		return err
	}
	listener, err := httpd.Listen(options.listen, key, infer.EnvKey, options.tls)
	if err != nil {
		return err
	}
	url := httpd.URL(listener, "http") + "/v1"
	shown := map[string]any{
		"url": url, "model": sys.Model(), "run": sys.Run, "epoch": sys.Epoch, "policies": sys.Digests(),
		"key": key != "",
	}
	err = a.Print(shown, func(out io.Writer) {
		terminal.Line(out, "%s of %s decides at %s, model %q", sys.Name(),
			terminal.Count(len(sys.Policies), "agent"), url, sys.Model())
	})
	if err != nil {
		return err
	}

	server := infer.NewServer(sys, model, config.Live(infer.EnvKey, key))
	if sys.Line != "" {
		go server.Follow(ctx, bucket, sys.Line, followEvery, model.Load,
			func(sys infer.TrainedSystem, err error) { printSwitch(a, sys, err) })
	}

	return httpd.Serve(ctx, listener, server, inferDrain)
}

// followEvery is the interval at which an endpoint reads which system its line accepts.
const followEvery = 2 * time.Second

// printSwitch reports that an endpoint serves another system, or why it cannot.
func printSwitch(a *app.App, sys infer.TrainedSystem, err error) {
	if err != nil {
		terminal.Line(a.Err, "the system that the line accepts cannot be served yet; the one before answers: %v", err)
		return
	}
	_ = a.Print(map[string]any{"run": sys.Run, "epoch": sys.Epoch, "policies": sys.Digests()}, func(out io.Writer) {
		terminal.Line(out, "%s answers from now on", sys.Name())
	})
}
