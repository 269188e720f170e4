package main

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/process/config"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/transfer"
)

// Variables with the keys of the other object store. With the suffix _FILE they name files that hold the keys.
const (
	envOtherAccess = "COLLABUI_OTHER_S3_ACCESS_KEY"
	envOtherSecret = "COLLABUI_OTHER_S3_SECRET_KEY"
	envOtherToken  = "COLLABUI_OTHER_S3_SESSION_TOKEN"
)

// otherStore says how the help names another store.
const otherStore = "PLACE is a folder, or the URL of a bucket on an S3 server, such as https://host:9000/bucket, whose " +
	"keys are in\n" + envOtherAccess + " and " + envOtherSecret + " (or in files, _FILE)."

func copyCmd(a *app) *cobra.Command {
	var to string
	c := &cobra.Command{
		Use:   "copy RUN… --to PLACE",
		Short: "Copy runs with everything that they need to another store",
		Long: `copy copies runs, with what they refer to in other runs, to another object store. Every object is
verified by its hash on both sides. It may be repeated: what is there is not sent again. There the run can be shown,
exported, forked, and with train RUN it continues to the same digest.

` + otherStore,
		Example: "  collabui copy quickstart --to /mnt/backup\n  collabui copy a b --to https://s3.example.com/archive",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.runTransfer(c.Context(), to, true, func(x exchange) (transfer.Report, error) {
				return transfer.Runs(c.Context(), x.own, x.other, args, x.progress)
			})
		},
	}
	c.Flags().StringVar(&to, "to", "", "the other store: a `PLACE`")

	return c
}

func backupCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "backup PLACE",
		Short: "Copy the whole store to another place",
		Long: `backup copies all runs and all imported data to another place. It may be repeated, and then copies
what is new; nothing is removed there. Runs may go on meanwhile: of those it copies what there is.

` + otherStore,
		Example: "  collabui backup /mnt/backup",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.runTransfer(c.Context(), args[0], true, func(x exchange) (transfer.Report, error) {
				return transfer.All(c.Context(), x.own, x.other, x.progress)
			})
		},
	}
}

func restoreCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "restore PLACE [RUN…]",
		Short: "Copy a backup, or some of its runs, into the store",
		Long: `restore copies what backup or copy wrote into the store, all of it or the named runs. It refuses a run if
the store has another one of its name. A restored run that has not ended continues with train RUN, a restored schedule
with schedule resume SCHEDULE.

` + otherStore,
		Example: "  collabui restore /mnt/backup quickstart",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.runTransfer(c.Context(), args[0], false, func(x exchange) (transfer.Report, error) {
				if len(args) > 1 {
					return transfer.Runs(c.Context(), x.other, x.own, args[1:], x.progress)
				}

				return transfer.All(c.Context(), x.other, x.own, x.progress)
			})
		},
	}
}

// exchange is what a transfer works with.
type exchange struct {
	own, other store.Bucket
	progress   func(done, known int)
}

// runTransfer opens both stores and shows the progress of a transfer. fill means that objects go to the other store, so
// that a folder need not exist.
func (a *app) runTransfer(
	ctx context.Context, place string, fill bool, do func(exchange) (transfer.Report, error),
) error {
	other, err := openPlace(ctx, place, fill)
	if err != nil {
		return err
	}
	own, _, err := a.bucket()
	if err != nil {
		return err
	}

	v := a.viewer("")
	report, err := do(exchange{own, other, v.objects()})
	v.clear()
	if err != nil {
		return err
	}

	return a.print(report, func(w io.Writer) {
		say(w, "%d runs, %d objects; %d of them, %s, are new there",
			len(report.Runs), report.Objects, report.Written, megabytes(report.Bytes))
	})
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

// openFolder opens a folder with objects, which it makes if that is to be filled.
func openFolder(dir string, fill bool) (store.Bucket, error) {
	var err error
	if fill {
		err = os.MkdirAll(dir, 0o700)
	} else {
		_, err = os.Stat(filepath.Join(dir, "runs"))
	}
	if err != nil {
		return nil, fault.New(fault.Invalid, "%s: expected a folder of copy or backup: %w", dir, err)
	}

	return store.Backup{Files: store.Files{Dir: dir}}, nil
}

// openPlace opens another store: a folder, or a bucket on an S3 server.
func openPlace(ctx context.Context, place string, fill bool) (store.Bucket, error) {
	if !strings.Contains(place, "://") {
		if place == "" {
			return nil, fault.New(fault.Invalid, "name the other store: a folder, or https://host:9000/bucket")
		}
		return openFolder(place, fill)
	}

	u, err := url.Parse(place)
	bucket := ""
	if err == nil {
		bucket = strings.Trim(u.Path, "/")
	}
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || bucket == "" || u.User != nil ||
		strings.Contains(bucket, "/") {
		return nil, fault.New(fault.Invalid, "expected a folder, or a URL such as https://host:9000/bucket without a "+
			"password, not %q", config.Redacted(place))
	}
	conf := store.Config{Endpoint: u.Host, Bucket: bucket, TLS: u.Scheme == "https"}
	if conf.Access, err = config.Secret(envOtherAccess); err != nil {
		return nil, err
	}
	if conf.Secret, err = config.Secret(envOtherSecret); err != nil {
		return nil, err
	}
	if conf.Token, err = config.Secret(envOtherToken); err != nil {
		return nil, err
	}
	if conf.Access == "" || conf.Secret == "" {
		return nil, fault.New(fault.Invalid, "set %s and %s, the keys of %s", envOtherAccess, envOtherSecret, u.Host)
	}
	b, err := store.Open(conf)
	if err != nil {
		return nil, err
	}
	if err := b.Check(ctx); err != nil {
		return nil, fault.New(fault.Transient, "%s: %w", place, err)
	}

	return b, nil
}
