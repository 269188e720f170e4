package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/internal/process/notify"
	"github.com/collabui/collabui/internal/store/notices"
	"github.com/collabui/collabui/workers"
)

func noticesCmd(a *app) *cobra.Command {
	var test bool
	var last int
	c := &cobra.Command{
		Use:   "notices",
		Short: "Show what people were notified of, and which receivers were told",
		Long: `notices shows the newest notices: systems that were promoted or rejected, runs that paused, stopped or
ended, budgets that are nearly spent, firings that failed or were missed. The file that ` + notify.EnvFile + ` names
on control workers lists who is told; docs/operate.md explains it.`,
		Example: "  collabui notices\n  collabui notices --test",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			session, err := a.connect(c.Context())
			if err != nil {
				return err
			}
			defer session.Close()
			if test {
				if err := session.testNotice(c); err != nil {
					return err
				}
			}

			return session.showNotices(c, last)
		},
	}
	c.Flags().BoolVar(&test, "test", false, "write a notice first, of which all receivers are told")
	c.Flags().IntVar(&last, "last", 20, "the number of notices to show")

	return c
}

// testNotice writes a notice and wakes all receivers.
func (s *session) testNotice(c *cobra.Command) error {
	now := time.Now().UTC()
	n := notices.Notice{
		ID: fmt.Sprintf("test/%d", now.UnixMilli()), Kind: notices.Test, At: now, Text: "a test by " + userName(),
	}
	if _, err := notices.Append(c.Context(), s.bucket, n); err != nil {
		return err
	}
	known, err := notices.Receivers(c.Context(), s.bucket)
	if err != nil {
		return err
	}
	ctx, err := s.here(c.Context(), "")
	if err != nil {
		return err
	}
	for _, r := range known {
		if err := workers.WakeReceiver(ctx, s.temporal, r); err != nil {
			return err
		}
	}

	return nil
}

// receiverState is how far a receiver has been told, as the command prints it.
type receiverState struct {
	Receiver string `json:"receiver"`
	Told     int    `json:"told"` // number of the last notice
}

func (s *session) showNotices(c *cobra.Command, last int) error {
	all, err := notices.Newest(c.Context(), s.bucket, last)
	if err != nil {
		return err
	}
	for _, n := range all {
		err := s.print(n, func(w io.Writer) {
			about := n.Run
			if n.Schedule != "" {
				about = n.Schedule + " " + n.Run
			}
			say(w, "%4d %s %-9s %s: %s", n.Number, n.At.Format(time.DateTime), n.Kind, about, n.Text)
		})
		if err != nil {
			return err
		}
	}
	known, err := notices.Receivers(c.Context(), s.bucket)
	if err != nil {
		return err
	}
	for _, r := range known {
		told, err := r.Told(c.Context(), s.bucket)
		if err != nil {
			return err
		}
		err = s.print(receiverState{string(r), told}, func(w io.Writer) {
			say(w, "receiver %s was told up to notice %d", r, told)
		})
		if err != nil {
			return err
		}
	}

	return nil
}
