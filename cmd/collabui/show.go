package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/config"
	"github.com/collabui/collabui/internal/local/supervisor"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

func showCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "show RUN [EPOCH/SLOT|stage-1|critic]",
		Short: "Show a run: its status and results, an episode, stage 1, or how good its critic is",
		Long: `show prints the status and the results of a run.

With EPOCH/SLOT it prints an episode: for every step what was on the screen, the answers of all agents in all rounds
with the critic's labels, the vote, what was executed, and how many pairs came of it. An answer is marked + if the
critic called it right, - if wrong, ? if it was not sure; * is what was executed. --json has everything that was said,
and the viewer shows it.

With stage-1 it prints the data cards of stage 1 (what was made, how much, by whom, and what was dropped and why) and
the base policy.

With critic it reads the graded episodes. It compares every label with the environment's judge, which is privileged: it
knows the solution. It compares the labels of executed actions with how the episodes ended. That calls no model.`,
		Example: "  collabui show quickstart --json\n" +
			"  collabui show quickstart 2/17\n  collabui show curriculum stage-1\n" +
			"  collabui show quickstart critic --json",
		Args: cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			return a.runShow(c.Context(), args[0], append(args, "")[1])
		},
	}
}

// runShow prints a run, or the named part of it.
func (a *app) runShow(ctx context.Context, run, part string) error {
	b, e, err := a.bucket()
	if err != nil {
		return err
	}
	switch {
	case part == "":
	case part == untilStage1:
		return a.showStage1(ctx, b, run)
	case part == "critic":
		return a.showCritic(ctx, b, run)
	default:
		return a.showEpisode(ctx, b, run, part)
	}

	return a.show(ctx, b, e, run)
}

// observe reads the status of a run while it checks every service, because a service that hangs must not hide what the
// others know.
func (a *app) observe(ctx context.Context, b store.Bucket, e config.Endpoints, run string) (status, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type answer struct {
		status
		err error
	}
	read := make(chan answer, 1)
	go func() {
		st, err := readStatus(ctx, b, e, run)
		if err == nil {
			st.readLive(ctx, e)
		}
		read <- answer{st, err}
	}()

	problems := silent(a.probe(ctx, e))
	if fails(problems, supervisor.S3) {
		for _, f := range problems {
			f.text(a.err)
		}

		return status{}, fault.New(fault.Transient, "the run cannot be read while the object store does not answer")
	}
	got := <-read
	got.Problems, got.View = problems, runPage(e, run)
	got.Reason = a.pasteable(got.Reason)

	return got.status, got.err
}

// show prints the status of a run.
func (a *app) show(ctx context.Context, b store.Bucket, e config.Endpoints, run string) error {
	st, err := a.observe(ctx, b, e, run)
	if err != nil {
		return err
	}

	return a.print(st, st.text)
}

// leftOutText prints the failed slots by epoch.
func (st status) leftOutText(w io.Writer) {
	if len(st.LeftOut) > 0 {
		say(w, "\nleft out")
	}
	for _, l := range st.LeftOut {
		line := fmt.Sprintf("  epoch %d: %d failed slots", l.Epoch, l.Slots)
		if l.Accepted != "" {
			line += ", accepted by " + l.Accepted
		}
		say(w, "%s", line)
	}
}

// changesText prints what people did to the run.
func (st status) changesText(w io.Writer) {
	if len(st.Changes) > 0 {
		say(w, "\nchanges by people")
	}
	for i, c := range st.Changes {
		line := fmt.Sprintf("  %d. %s %s %s", i+1, c.At.Format(time.DateTime), c.Who, c.Verb)
		for _, key := range c.Values.Keys() {
			line += fmt.Sprintf(" %s=%s", key, c.Values[key])
		}
		for _, x := range c.Cells {
			line += fmt.Sprintf(" label %d/%d/%d/%d=%d", x.Slot, x.Step, x.Agent, x.Round, x.Label)
		}
		if c.Why != "" {
			line += ": " + c.Why
		}
		if c.Link != "" {
			line += " (" + c.Link + ")"
		}
		say(w, "%s", line)
	}
}

func (st status) text(w io.Writer) {
	say(w, "%s: %s, stage %s, %d of %d epochs committed", st.Name, st.Status, st.Stage, st.Epoch, st.Epochs)
	if st.Reason != "" {
		say(w, "reason: %s", st.Reason)
	}
	if st.Warning != "" {
		say(w, "warning: %s", st.Warning)
	}
	if st.View != "" {
		say(w, "see every episode: %s", st.View)
	}
	st.Live.text(w)
	if st.Live != nil && st.Status == statePaused {
		st.Live.runningText(w)
	}
	for _, f := range st.Problems {
		f.text(w)
	}
	st.costText(w)
	switch {
	case st.Origin != nil:
		say(w, "comes from: %s, of which it is a fork after epoch %d", st.Origin.Run, st.Origin.Epoch)
	case st.spec.FineTune.Base != "":
		say(w, "comes from: finetune.base %s, with which stage 1 began", st.spec.FineTune.Base)
	}
	if st.Base != nil {
		last := st.Base.Curve[len(st.Base.Curve)-1]
		say(w, "base policy after %d optimiser steps, one agent on val %.1f %% (%s; in the band: %v)",
			last.At, 100*last.Rate, st.Base.StoppedBy, st.Base.InBand)
		if st.Base.Unplayed > 0 {
			say(w, "%d training tasks of stage 1 could not be played", st.Base.Unplayed)
		}
	}

	if len(st.Curve) > 0 {
		say(w, "\nval by epoch (epoch 0 is the base system)")
		for _, p := range st.Curve {
			say(w, "  %3d %5.1f %% %s", p.At, 100*p.Rate, strings.Repeat("█", int(40*p.Rate+0.5)))
		}
	}
	st.leftOutText(w)
	st.changesText(w)
	if len(st.Updates) > 0 {
		say(w, "\nupdates of epoch %d, on prompts of each agent's own data", st.Epoch)
		printUpdates(w, st.Updates)
	}
	if len(st.Results) > 0 {
		say(w, "")
		printResults(w, st.Results)
		say(w, "critic: %s · trained system: epoch %d, %s · final digest %s", st.Critic, st.Best,
			runs.BestOnVal(st.Best, st.Curve), st.FinalDigest)
	}
}
