package main

import (
	"context"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/collabui/collabui/internal/process/config"
	"github.com/collabui/collabui/internal/process/logging"
	"github.com/collabui/collabui/internal/process/supervisor"
)

// defaultTabs is the number of concurrent episodes on a small machine.
const defaultTabs = 3

// upOptions are the flags of commands that start the local services.
type upOptions struct {
	tabs     int
	external externalOptions
}

func (o *upOptions) addFlags(f *pflag.FlagSet) {
	f.IntVar(&o.tabs, "tabs", defaultTabs, "concurrent episodes")
	o.external.addFlags(f)
}

// externalOptions replace local services by addresses, each independently.
type externalOptions struct {
	temporal, s3, redis, policy string
}

func (o *externalOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.temporal, "temporal", "", "use the Temporal server at `HOST:PORT` instead of a local one")
	f.StringVar(&o.s3, "s3", "",
		"use the S3 server at `URL` instead of a local one; keys from "+config.EnvAccess+" and "+config.EnvSecret)
	f.StringVar(&o.redis, "redis", "", "use the Redis server at `URL` instead of a local one")
	f.StringVar(&o.policy, "policy", "", "use the policy servers at `URL,URL…` (each up to /v1) instead of a local one")
}

// endpoints returns those of the environment, with what the flags say.
func (o *externalOptions) endpoints() (config.Endpoints, error) {
	e, err := config.FromEnv()
	override := func(flag string, to *string) {
		if flag != "" {
			*to = flag
		}
	}
	override(o.temporal, &e.Temporal)
	override(o.redis, &e.Redis)
	override(o.policy, &e.Policy)
	if o.s3 != "" {
		e.SetStore(o.s3)
	}

	return e, err
}

func upCmd(a *app) *cobra.Command {
	var o upOptions
	var foreground bool
	c := &cobra.Command{
		Use:     "up",
		Short:   "Start the local services, the policy server and a worker",
		Example: "  collabui up --data /tmp/other",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if foreground {
				return a.runForeground(c.Context(), o)
			}
			return a.runUp(c.Context(), o)
		},
	}
	o.addFlags(c.Flags())
	c.Flags().BoolVar(&foreground, "foreground", false, "stay attached until ctrl-C")

	return c
}

func (a *app) runUp(ctx context.Context, o upOptions) error {
	if err := a.local(); err != nil {
		return err
	}
	if err := a.ensureUp(ctx, o); err != nil {
		return err
	}

	return a.showServices()
}

// runForeground is the supervisor of the data folder.
func (a *app) runForeground(ctx context.Context, o upOptions) error {
	if err := a.local(); err != nil {
		return err
	}
	e, err := o.external.endpoints()
	if err != nil {
		return err
	}
	log, err := logging.New(a.err, logging.FromEnv())
	if err != nil {
		return err
	}

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := supervisor.Start(ctx, supervisor.Options{Data: a.data, External: e, Tabs: o.tabs, Log: log})
	if err != nil {
		return err
	}
	if err := a.showServices(); err != nil {
		return err
	}
	s.Wait(ctx)

	return nil
}

func (a *app) showServices() error {
	st, _ := supervisor.Read(a.data)

	return a.print(st, func(w io.Writer) {
		for _, name := range supervisor.Addressed {
			service := st.Services[name]
			line := service.Addr
			if service.Problem != "" {
				line += "   down: " + service.Problem
			}
			say(w, "%-9s %s", name, line)
		}
		say(w, "%-9s %s", "ui", st.UI)
		say(w, "%-9s %s", "logs", filepath.Join(a.data, "logs"))
	})
}
