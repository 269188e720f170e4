package main

import (
	"context"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/policy/aliases"
	"github.com/collabui/collabui/internal/policy/serving"
	"github.com/collabui/collabui/internal/policy/tinyserver"
	"github.com/collabui/collabui/internal/process/config"
)

// envCallLog sets --call-log.
const envCallLog = "COLLABUI_CALL_LOG"

// policyServerDrain is the time that open requests get when the server stops.
const policyServerDrain = 5 * time.Second

// policyServerOptions are the flags of policy-server.
type policyServerOptions struct {
	child   childOptions
	addr    string
	tls     serving.TLS
	callLog string
	lines   []string
}

func policyServerCmd(a *app) *cobra.Command {
	var o policyServerOptions
	c := &cobra.Command{
		Use:   "policy-server",
		Short: "Serve small policies over the OpenAI chat API",
		Long: `policy-server loads policies from the store on demand. Clients must send the key in
` + config.EnvPolicyKey + ` if that is set; without a key it listens on this machine only.`,
		Example: "  collabui policy-server --addr 127.0.0.1:8000",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return a.runPolicyServer(c.Context(), o) },
	}
	f := c.Flags()
	tlsFlags(f, &o.tls)
	f.StringVar(&o.addr, "addr", "127.0.0.1:8000", "listen on `HOST:PORT`")
	f.StringVar(&o.callLog, "call-log", os.Getenv(envCallLog),
		"append one line per answered request to `FILE`: time, seed, model")
	f.StringSliceVar(&o.lines, "line", nil, usageLines)
	o.child.addFlags(f)

	return c
}

func (a *app) runPolicyServer(ctx context.Context, o policyServerOptions) error {
	e, err := a.workerEndpoints(nil)
	if err != nil && e.Store.Endpoint == "" {
		return err
	}
	b, err := e.OpenStore()
	if err != nil {
		return err
	}
	l, err := serving.Listen(o.addr, e.PolicyKey, config.EnvPolicyKey, o.tls)
	if err != nil {
		return err
	}

	if err := checkLines(o.lines); err != nil {
		return err
	}

	handler := tinyserver.New(b)
	handler.Keys, handler.Aliases = e.PolicyKeys(), aliases.New(o.lines)
	ctx = o.child.lifetime(ctx)
	go handler.Aliases.Run(ctx, b, handler.Load, func(format string, args ...any) { say(a.err, format, args...) })
	if o.callLog != "" {
		f, err := os.OpenFile(o.callLog, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return fault.New(fault.Invalid, "call log: %w", err)
		}
		defer func() { _ = f.Close() }()
		handler.CallLog = f
	}

	return serving.Serve(ctx, l, handler, policyServerDrain)
}

// usageLines says what following a line means to a policy server.
const usageLines = "also serve the policies that `LINE` accepts, as the models LINE/0, LINE/1, … by agent; " +
	"may be repeated"

// checkLines refuses names that no line can have.
func checkLines(names []string) error {
	for _, n := range names {
		if !spec.IsName(n) {
			return fault.New(fault.Invalid, "--line: expected a name of 1 to 40 lower-case letters, digits and "+
				"dashes, not %q", n)
		}
	}

	return nil
}
