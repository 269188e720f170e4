package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/method/synth"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/workers"
	"github.com/collabui/collabui/workers/catalog"
	"github.com/collabui/collabui/workflows"
)

func finetuneCmd(a *app) *cobra.Command {
	c := &cobra.Command{Use: "finetune SPEC", Short: "Run stage 1 of a specification alone: data, levels, base policy", Example: "  collabui finetune examples/curriculum.yaml", Args: cobra.ExactArgs(1),
		Long: "finetune does what train does first, and stops behind it: the data cards and the base policy are shown. train on the same specification goes on from there.\nIt may be interrupted: the run goes on, and the same command shows it again."}
	name := c.Flags().String("name", "", "run name, instead of the specification's")
	seed := c.Flags().Int64("seed", -1, "seed, instead of the specification's")
	tabs := c.Flags().Int("tabs", defaultTabs, "episodes at once")
	ext := externals(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		s, err := loadSpec(args[0], *name, *seed)
		if err != nil {
			return err
		}
		e, err := ext()
		if err != nil {
			return err
		}
		if err := a.ensureUp(c.Context(), e, *tabs); err != nil {
			return err
		}
		b, points, err := a.bucket()
		if err != nil {
			return err
		}
		if err := recordSpec(c.Context(), b, s, "give the run another name (in "+args[0]+", or with --name) to start a new one"); err != nil {
			return err
		}
		base, _, err := runs.Run(s.Name).Base().Read(c.Context(), b)
		if errors.Is(err, store.ErrNotFound) {
			t, err := workers.Dial(c.Context(), points, slog.New(slog.DiscardHandler))
			if err != nil {
				return err
			}
			defer t.Close()
			if err := start(c.Context(), t, points.Namespace, workflows.RunInput{Name: s.Name, FineTune: true}); err != nil {
				return err
			}
			if err := a.attend(c.Context(), t, untilBase{t.GetWorkflow(c.Context(), s.Name, ""), b, s.Name}, func(v *viewer) {
				var st workflows.Status
				if query(c.Context(), t, s.Name, workflows.QueryStatus, &st) {
					v.status(c.Context(), t, st)
				}
			}); err != nil {
				return fault.New(fault.Transient, "stage 1 of %s: %w", s.Name, err)
			}
			if base, _, err = runs.Run(s.Name).Base().Read(c.Context(), b); err != nil {
				return err
			}
		} else if err != nil {
			return err
		}
		cards, err := cardsOf(c.Context(), b, s.Name)
		if err != nil {
			return err
		}
		out := struct {
			Run   string       `json:"run"`
			Base  runs.Base    `json:"base"`
			Cards []synth.Card `json:"cards"`
		}{s.Name, base, cards}
		return a.print(out, func(w io.Writer) {
			printCards(w, cards)
			for _, p := range base.Curve {
				_, _ = fmt.Fprintf(w, "after %5d optimiser steps one agent on val %5.1f %%\n", p.At, 100*p.Rate)
			}
			_, _ = fmt.Fprintf(w, "base policy %s; go on with %s\n", base.Policy.Digest, a.typed("train %s", args[0]))
		})
	}
	return c
}

// loadSpec reads a specification with another name or seed.
func loadSpec(file, name string, seed int64) (spec.Spec, error) {
	s, err := spec.Load(file, catalog.All{})
	if err != nil {
		return s, err
	}
	if name != "" {
		s.Name = name
	}
	if seed >= 0 {
		s.Seed = uint64(seed)
	}
	return s, s.Validate(catalog.All{})
}

// untilBase waits for the base policy: a run that was started by train goes on behind it.
type untilBase struct {
	client.WorkflowRun
	b   store.Bucket
	run string
}

func (u untilBase) Get(ctx context.Context, out any) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	end := make(chan error, 1)
	go func() { end <- u.WorkflowRun.Get(ctx, out) }()
	for {
		select {
		case err := <-end:
			return err
		case <-time.After(time.Second):
			if _, err := u.b.Get(ctx, runs.Run(u.run).Base().Key); err == nil {
				return nil
			}
		}
	}
}
