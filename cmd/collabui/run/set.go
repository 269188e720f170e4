package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.temporal.io/api/serviceerror"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/cmd/collabui/terminal"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/workers/catalog"
	"github.com/collabui/collabui/workflows"
)

func setCmd(a *app.App) *cobra.Command {
	var why string
	cmd := &cobra.Command{
		Use:   "set RUN KEY=VALUE...",
		Short: "Change values of a run from the next epoch that begins",
		Long: `set changes values of a run's specification. They count from the next epoch that begins. Values on which
no record depends count immediately: budgets, epochs, failed_share, serving, window, labels, screenshots, and the
limits, keys, timeouts and prices of models. What stage 1 is made of, the seed and the number of agents cannot be
changed: that takes a new run. Every change is recorded with who made it and why, and is part of the run from there
on.`,
		Example: "  collabui set quickstart budget.money=40 --why 'one more epoch'\n" +
			"  collabui set quickstart train.beta=0.5 'decoding.temperatures=[0.3]'",
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error { return runSet(cmd.Context(), a, why, args[0], args[1:]) },
	}
	app.AddWhy(cmd, &why)

	return cmd
}

// runSet changes values of a run. Its workflow applies the change; if no workflow runs, the next one finds it.
func runSet(ctx context.Context, a *app.App, why, run string, pairs []string) error {
	typed, err := assignments(pairs)
	if err != nil {
		return err
	}
	session, err := a.Connect(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	of, err := runs.Run(run).Current(ctx, session.Store)
	if err != nil {
		return err
	}
	values, err := of.Change(typed, typedHere(), catalog.All{})
	if err != nil {
		return err
	}
	asked := workflows.SetCommand{
		Command: workflows.Command{Who: app.UserName(), Why: why}, Values: map[string]string{},
	}
	for key, rawMessage := range values {
		asked.Values[key] = string(rawMessage)
	}
	var change runs.Change
	err = session.Update(ctx, workflows.UpdateSet, run, asked, &change)
	var missing *serviceerror.NotFound
	if errors.As(err, &missing) {
		change, err = setStored(ctx, session.Store, run, asked)
	}
	if err != nil {
		return err
	}

	err = a.Print(change, func(out io.Writer) {
		for _, key := range change.Values.Keys() {
			when := "from the next epoch that begins"
			if of.Immediate(key) {
				when = "from now on"
			}
			terminal.Line(out, "%s: %s is %s %s", run, key, change.Values[key], when)
		}
	})
	if err != nil || !slices.ContainsFunc(change.Values.Keys(), isBudget) {
		return err
	}
	budget, err := runs.Run(run).Budget(ctx, session.Store, of)
	if err != nil {
		return err
	}
	spent, err := runs.Run(run).Spent(ctx, session.Store)
	if err != nil {
		return err
	}
	if warning := overspent(budget, spent); warning != "" {
		terminal.Line(a.Err, "note: %s, so %s pauses before its next call", warning, run)
	}

	return nil
}

func isBudget(key string) bool { return strings.HasPrefix(key, "budget.") }

// overspent returns which limit of a budget has already been reached, or "".
func overspent(budget spec.Budget, spent runs.Spent) string {
	switch {
	case budget.Money > 0 && spent.Money >= budget.Money:
		return fmt.Sprintf("%.2f of budget.money=%g are already spent", spent.Money, budget.Money)
	case budget.Tokens > 0 && spent.Tokens >= budget.Tokens:
		return fmt.Sprintf("%d of budget.tokens=%d are already spent", spent.Tokens, budget.Tokens)
	default:
		return ""
	}
}

// setStored records a change for a run that no workflow runs.
func setStored(ctx context.Context, bucket store.Bucket, run string, c workflows.SetCommand) (runs.Change, error) {
	change := runs.Change{Who: c.Who, Why: c.Why, At: time.Now().UTC()}
	change, _, err := runs.Run(run).Set(ctx, bucket, change, c.Values, spec.Source{}, catalog.All{})
	if err != nil {
		return change, fmt.Errorf("set %s: %w", run, err)
	}

	return change, nil
}
