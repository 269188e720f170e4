package main

import (
	"context"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
)

// setOptions are the flags of set.
type setOptions struct {
	why string
}

func setCmd(a *app) *cobra.Command {
	var o setOptions
	c := &cobra.Command{
		Use:   "set RUN KEY=VALUE…",
		Short: "Change the budget of a run",
		Long: `set changes what can be changed during a run: budget.money and budget.tokens. Every change is
recorded with the run, and takes effect within seconds. Any other change needs a new run with another name.`,
		Example: "  collabui set quickstart budget.money=40 --why 'one more epoch'",
		Args:    cobra.MinimumNArgs(2),
		RunE:    func(c *cobra.Command, args []string) error { return a.runSet(c.Context(), o, args[0], args[1:]) },
	}
	c.Flags().StringVar(&o.why, "why", "", "the reason, recorded with the run")

	return c
}

func (a *app) runSet(ctx context.Context, o setOptions, run string, pairs []string) error {
	b, _, err := a.bucket()
	if err != nil {
		return err
	}
	got, err := change(ctx, b, run, pairs, runs.Change{Who: userName(), Why: o.why})
	if err != nil {
		return err
	}

	return a.print(got, func(w io.Writer) {
		say(w, "%s: budget.money %.2f, budget.tokens %d (0 means no limit)", run, got.Budget.Money, got.Budget.Tokens)
	})
}

// change records a change after those of the run that exist.
func change(ctx context.Context, b store.Bucket, run string, pairs []string, c runs.Change) (runs.Change, error) {
	s, err := runs.Run(run).Find(ctx, b)
	if err != nil {
		return c, err
	}
	for n := 1; ; n++ {
		if c.Budget, err = runs.Run(run).Budget(ctx, b, s); err != nil {
			return c, err
		}
		for _, pair := range pairs {
			if err := assign(&c.Budget, pair); err != nil {
				return c, err
			}
		}

		got, _, err := runs.Run(run).Change(n).Record(ctx, b, func() (runs.Change, error) { return c, nil })
		if err != nil || got == c {
			return c, err
		}
	}
}

// assign sets one field of a budget.
func assign(b *spec.Budget, pair string) error {
	key, value, ok := strings.Cut(pair, "=")
	if !ok {
		return fault.New(fault.Invalid, "%q is not KEY=VALUE", pair)
	}
	var err error
	switch key {
	case "budget.money":
		b.Money, err = strconv.ParseFloat(value, 64)
		ok = b.Money >= 0 // false for NaN
	case "budget.tokens":
		b.Tokens, err = strconv.Atoi(value)
		ok = b.Tokens >= 0
	default:
		return fault.New(fault.Invalid, "%s cannot be changed; budget.money and budget.tokens can", key)
	}
	if err != nil || !ok {
		return fault.New(fault.Invalid, "%s: expected a number of at least 0, not %q", key, value)
	}

	return nil
}
