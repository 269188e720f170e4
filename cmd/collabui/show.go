package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/process/config"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/workers"
	"github.com/collabui/collabui/workers/catalog"
	"github.com/collabui/collabui/workflows"
)

// shown is the answer of `show --json`.
type shown struct {
	Name        string           `json:"name"`
	Status      string           `json:"status"` // running, paused, finished, stopped, fine-tuned (stage 1 alone), absent (in the store only)
	Stage       string           `json:"stage"`
	Epoch       int              `json:"epoch"`
	Epochs      int              `json:"epochs"`
	Reason      string           `json:"reason,omitempty"`
	FinalDigest string           `json:"final_digest"`
	Best        int              `json:"best_epoch,omitempty"`
	Base        *runs.Base       `json:"base,omitempty"`
	Curve       []runs.EvalPoint `json:"curve"`
	Results     []runs.Result    `json:"results"`
	Critic      string           `json:"critic"`
	Spent       *runs.Spent      `json:"spent,omitempty"` // on chat endpoints
	val         int              // episodes of an evaluation on val
}

// gather reads a run from the store, and from Temporal what only it knows.
func (a *app) gather(ctx context.Context, b store.Bucket, e config.Endpoints, run string) (shown, error) {
	s, _, err := runs.Run(run).Spec().Read(ctx, b)
	if err != nil {
		return shown{}, fmt.Errorf("run %q: %w", run, err)
	}
	out := shown{Name: run, Status: "absent", Stage: "planned", Epochs: s.Epochs, Curve: []runs.EvalPoint{}, Results: []runs.Result{}, Critic: rules.CriticName(s, catalog.All{}), val: s.Evaluation.Val}
	if len(s.Models) > 0 {
		spent, err := runs.Run(run).Spent(ctx, b)
		if err != nil {
			return out, err
		}
		out.Spent = &spent
	}
	base, _, err := runs.Run(run).Base().Read(ctx, b)
	if err == nil {
		out.Base, out.Stage = &base, "epoch"
	} else if !errors.Is(err, store.ErrNotFound) {
		return out, err
	}
	for k := 1; k <= s.Epochs; k++ {
		ep, _, err := runs.Run(run).Epoch(k).Read(ctx, b)
		if errors.Is(err, store.ErrNotFound) {
			break
		}
		if err != nil {
			return out, err
		}
		out.Epoch = k
		if ep.Val != nil {
			out.Curve = append(out.Curve, runs.EvalPoint{At: k, Rate: ep.Val.Rate})
		}
	}
	end, _, err := runs.Run(run).End().Read(ctx, b)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return out, err
	}
	if err == nil {
		out.Status, out.Stage, out.FinalDigest, out.Results, out.Curve, out.Best = "finished", "done", end.FinalDigest, end.Results, end.Curve, end.Best
		return out, nil
	}
	short, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	t, err := workers.Dial(short, e, slog.New(slog.DiscardHandler))
	if err != nil {
		return out, nil // the store alone answers
	}
	defer t.Close()
	live(short, t, &out)
	return out, nil
}

func live(ctx context.Context, t client.Client, out *shown) {
	d, err := t.DescribeWorkflowExecution(ctx, out.Name, "")
	if err != nil {
		return
	}
	if d.WorkflowExecutionInfo.Status != enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
		out.Status = "stopped"
		if d.WorkflowExecutionInfo.Status == enums.WORKFLOW_EXECUTION_STATUS_COMPLETED { // without end.json: by `finetune`
			out.Status, out.Stage = "fine-tuned", "stage 1 is over"
		}
		return
	}
	out.Status = "running"
	var st workflows.Status
	if query(ctx, t, out.Name, workflows.QueryStatus, &st) {
		out.Stage, out.Reason = st.Stage, st.Reason
		if st.Paused {
			out.Status = "paused"
		}
	}
}

func showCmd(a *app) *cobra.Command {
	c := &cobra.Command{Use: "show RUN", Short: "Show where a run stands and its results", Example: "  collabui show quickstart --json\n  collabui show quickstart --curve val.svg", Args: cobra.ExactArgs(1)}
	file := c.Flags().String("curve", "", "also draw success on val by epoch into `FILE`, an SVG picture")
	c.RunE = func(c *cobra.Command, args []string) error {
		b, e, err := a.bucket()
		if err != nil {
			return err
		}
		s, err := a.gather(c.Context(), b, e, args[0])
		if err != nil {
			return err
		}
		if *file != "" {
			if err := writeCurves(*file, fmt.Sprintf("%s: success on val by epoch (critic: %s)", s.Name, s.Critic), []curve{{name: s.Name, points: s.Curve, episodes: s.val, strong: true}}); err != nil {
				return err
			}
		}
		return a.print(s, func(w io.Writer) { s.text(w) })
	}
	return c
}

func (a *app) showEnd(ctx context.Context, b store.Bucket, run string) error {
	e, err := a.endpoints()
	if err != nil {
		return err
	}
	s, err := a.gather(ctx, b, e, run)
	if err != nil {
		return err
	}
	return a.print(s, func(w io.Writer) { s.text(w) })
}

func (s shown) text(w io.Writer) {
	_, _ = fmt.Fprintf(w, "%s: %s, stage %s, epoch %d of %d\n", s.Name, s.Status, s.Stage, s.Epoch, s.Epochs)
	if s.Reason != "" {
		_, _ = fmt.Fprintf(w, "reason: %s\n", s.Reason)
	}
	if s.Spent != nil {
		_, _ = fmt.Fprintf(w, "chat endpoints: %d recorded calls, %d tokens, cost %.4f\n", s.Spent.Calls, s.Spent.Tokens, s.Spent.Money)
	}
	if s.Base != nil {
		last := s.Base.Curve[len(s.Base.Curve)-1]
		_, _ = fmt.Fprintf(w, "base policy after %d optimiser steps, one agent on val %.1f %% (%s; in the band: %v)\n", last.At, 100*last.Rate, s.Base.StoppedBy, s.Base.InBand)
	}
	if len(s.Curve) > 0 {
		_, _ = fmt.Fprintf(w, "\nval by epoch (epoch 0 is the base system)\n")
		for _, p := range s.Curve {
			_, _ = fmt.Fprintf(w, "  %3d %5.1f %% %s\n", p.At, 100*p.Rate, strings.Repeat("█", int(40*p.Rate+0.5)))
		}
	}
	if len(s.Results) == 0 {
		return
	}
	_, _ = fmt.Fprintln(w)
	table(w, s.Results)
	_, _ = fmt.Fprintf(w, "critic: %s · trained system: epoch %d, the best on val · final digest %s\n", s.Critic, s.Best, s.FinalDigest)
}

func runsCmd(a *app) *cobra.Command {
	return &cobra.Command{Use: "runs", Short: "List the runs in the store", Example: "  collabui runs --json", Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
		b, e, err := a.bucket()
		if err != nil {
			return err
		}
		names, err := runNames(c.Context(), b)
		if err != nil {
			return err
		}
		for _, n := range names {
			s, err := a.gather(c.Context(), b, e, n)
			if err != nil {
				return err
			}
			if err := a.print(s, func(w io.Writer) {
				_, _ = fmt.Fprintf(w, "%-24s %-9s %-12s epoch %d/%d\n", s.Name, s.Status, s.Stage, s.Epoch, s.Epochs)
			}); err != nil {
				return err
			}
		}
		return nil
	}}
}

// runNames finds every spec.json.
func runNames(ctx context.Context, b store.Bucket) ([]string, error) {
	objects, err := b.List(ctx, "runs/")
	if err != nil {
		return nil, err
	}
	var out []string
	for _, o := range objects {
		if parts := strings.Split(o.Key, "/"); len(parts) == 3 && parts[2] == "spec.json" {
			out = append(out, parts[1])
		}
	}
	return out, nil
}

func sortedKeys[V any](m map[string]V) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
