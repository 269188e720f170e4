package main

import (
	"context"
	"fmt"
	"io"
	"os/user"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
)

func setCmd(a *app) *cobra.Command {
	c := &cobra.Command{Use: "set RUN KEY=VALUE…", Short: "Change the budget of a run", Example: "  collabui set quickstart budget.money=40 --why 'one more epoch'", Args: cobra.MinimumNArgs(2),
		Long: "set changes what may be changed of a run while it goes on: budget.money and budget.tokens. Every change is recorded with the run; it takes effect within seconds.\nEverything else makes another run: give it another name."}
	why := c.Flags().String("why", "", "the reason, recorded with the run")
	c.RunE = func(c *cobra.Command, args []string) error {
		b, _, err := a.bucket()
		if err != nil {
			return err
		}
		who := "unknown"
		if u, err := user.Current(); err == nil {
			who = u.Username
		}
		got, err := change(c.Context(), b, args[0], args[1:], who, *why)
		if err != nil {
			return err
		}
		return a.print(got, func(w io.Writer) {
			_, _ = fmt.Fprintf(w, "%s: budget.money %.2f, budget.tokens %d (0 is no limit)\n", args[0], got.Budget.Money, got.Budget.Tokens)
		})
	}
	return c
}

// change records a change behind those that stand there already.
func change(ctx context.Context, b store.Bucket, run string, pairs []string, who, why string) (runs.Change, error) {
	s, _, err := runs.Run(run).Spec().Read(ctx, b)
	if err != nil {
		return runs.Change{}, fmt.Errorf("run %q: %w", run, err)
	}
	for n := 1; ; n++ {
		out := runs.Change{Who: who, Why: why}
		if out.Budget, err = runs.Run(s.Name).Budget(ctx, b, s); err != nil {
			return out, err
		}
		for _, p := range pairs {
			if err := assign(&out.Budget, p); err != nil {
				return out, err
			}
		}
		got, _, err := runs.Run(run).Change(n).Record(ctx, b, func() (runs.Change, error) { return out, nil })
		if err != nil || got == out {
			return out, err
		}
	}
}

func assign(b *spec.Budget, pair string) error {
	key, value, ok := strings.Cut(pair, "=")
	if !ok {
		return fault.New(fault.Invalid, "%q is not KEY=VALUE", pair)
	}
	var err error
	switch key {
	case "budget.money":
		b.Money, err = strconv.ParseFloat(value, 64)
		if err == nil && !(b.Money >= 0) {
			err = strconv.ErrRange
		}
	case "budget.tokens":
		b.Tokens, err = strconv.Atoi(value)
		if err == nil && b.Tokens < 0 {
			err = strconv.ErrRange
		}
	default:
		return fault.New(fault.Invalid, "%s cannot be changed; budget.money and budget.tokens can", key)
	}
	if err != nil {
		return fault.New(fault.Invalid, "%s: expected a number from 0, not %q", key, value)
	}
	return nil
}
