package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.temporal.io/sdk/client"

	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/method/synth"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/workflows"
)

// finetuneOptions are the flags of finetune.
type finetuneOptions struct {
	run runOptions
	up  upOptions

	noProbe bool
}

func finetuneCmd(a *app) *cobra.Command {
	var o finetuneOptions
	c := &cobra.Command{
		Use:   "finetune SPEC",
		Short: "Run only stage 1 of a specification: data, levels, base policy",
		Long: `finetune runs the first part of train, then stops and shows the data cards and the base policy. train
on the same specification continues from there. It may be interrupted: the run continues, and the same command shows
it again.`,
		Example: "  collabui finetune examples/curriculum.yaml",
		Args:    cobra.ExactArgs(1),
		RunE:    func(c *cobra.Command, args []string) error { return a.runFineTune(c.Context(), o, args[0]) },
	}
	o.addFlags(c.Flags())

	return c
}

func (o *finetuneOptions) addFlags(f *pflag.FlagSet) {
	addNoProbe(f, &o.noProbe)
	o.run.addFlags(f)
	o.up.addFlags(f)
}

// tuned is the result of stage 1.
type tuned struct {
	Run   string       `json:"run"`
	Base  runs.Base    `json:"base"`
	Cards []synth.Card `json:"cards"`

	of spec.FineTune
}

func (a *app) runFineTune(ctx context.Context, o finetuneOptions, file string) error {
	s, err := o.run.load(file)
	if err != nil {
		return err
	}
	if err := a.ensureUp(ctx, o.up); err != nil {
		return err
	}
	b, _, err := a.bucket()
	if err != nil {
		return err
	}
	if err := a.admit(ctx, s, o.noProbe, anotherName(file)); err != nil {
		return err
	}

	run := runs.Run(s.Name)
	ended, err := run.Base().Exists(ctx, b)
	if err != nil {
		return err
	}
	if !ended {
		if err := a.finishStage1(ctx, s); err != nil {
			return err
		}
	}
	base, _, err := run.Base().Must(ctx, b)
	if err != nil {
		return err
	}
	cards, err := readCards(ctx, b, s.Name)
	if err != nil {
		return err
	}
	out := tuned{Run: s.Name, Base: base, Cards: cards, of: s.FineTune}

	return a.print(out, func(w io.Writer) {
		out.text(w)
		say(w, "base policy %s; continue with %s", base.Policy.Digest, a.typed("train %s", file))
	})
}

func (t tuned) text(w io.Writer) {
	printCards(w, t.of, t.Cards)
	for _, p := range t.Base.Curve {
		say(w, "after %5d optimiser steps one agent on val %5.1f %%", p.At, 100*p.Rate)
	}
}

// finishStage1 runs and shows stage 1 until its base policy exists.
func (a *app) finishStage1(ctx context.Context, x spec.Spec) error {
	run := x.Name
	s, err := a.connect(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.start(ctx, workflows.RunInput{Name: run, FineTune: true}); err != nil {
		return err
	}
	base := untilBase{WorkflowRun: s.temporal.GetWorkflow(ctx, run, ""), bucket: s.bucket, run: run}
	if err := s.attend(ctx, base, s.showRun(ctx, x)); err != nil {
		return fmt.Errorf("stage 1 of %s: %w", run, err)
	}

	return nil
}

// untilBase is a run that counts as ended when its base policy exists: a run that train started continues after that.
type untilBase struct {
	client.WorkflowRun
	bucket store.Bucket
	run    string
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
			// If the store does not answer, ask it again.
			if there, err := runs.Run(u.run).Base().Exists(ctx, u.bucket); err == nil && there {
				return nil
			}
		}
	}
}
