package operate

import (
	"context"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/cmd/collabui/terminal"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/care/transfer"
	"github.com/collabui/collabui/internal/config"
	"github.com/collabui/collabui/internal/store"
)

// Variables with the keys of the other object store. With the suffix _FILE they name files that contain the keys.
const (
	envOtherAccess = "COLLABUI_OTHER_S3_ACCESS_KEY"
	envOtherSecret = "COLLABUI_OTHER_S3_SECRET_KEY"
	envOtherToken  = "COLLABUI_OTHER_S3_SESSION_TOKEN"
)

// ownStore is the name of the own store as one end of a copy.
const ownStore = "store"

func copyCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "copy FROM TO [RUN]...",
		Short: "Copy runs, or everything, from one store to another",
		Long: `copy copies runs with everything that they refer to, in other runs, too, or, without RUN, all runs and
all imported data. FROM and TO are ` + ownStore + `, which is this store, a folder (./` + ownStore + ` for one of that
name), or the URL of a bucket on an S3 server, such as https://host:9000/bucket, whose keys are in
` + envOtherAccess + ` and ` + envOtherSecret + ` (or in files, _FILE).

Every object is verified by its hash on both sides. copy may be repeated, and then copies what is new; nothing is
removed. Runs may go on meanwhile: of those it copies what there is. A run is refused if TO has another one of its
name. There the run can be shown, exported, forked, and with train RUN it continues to the same digest; a copied
schedule continues with schedule create SCHEDULE.`,
		Example: "  collabui copy store /mnt/backup\n  collabui copy /mnt/backup store quickstart\n" +
			"  collabui copy store https://s3.example.com/archive quickstart other",
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runCopy(cmd.Context(), a, args[0], args[1], args[2:])
		},
	}
}

func runCopy(ctx context.Context, a *app.App, source, target string, runs []string) error {
	if source == target {
		return fault.New(fault.Invalid, "FROM and TO are both %s: expected two stores", config.Redacted(source))
	}
	from, err := openPlace(ctx, a, source, false)
	if err != nil {
		return err
	}
	to, err := openPlace(ctx, a, target, true)
	if err != nil {
		return err
	}

	var report transfer.Report
	bar := a.NewBar("")
	if len(runs) > 0 {
		report, err = transfer.Runs(ctx, from, to, runs, bar.Objects())
	} else {
		report, err = transfer.All(ctx, from, to, bar.Objects())
	}
	bar.Clear()
	if err != nil {
		return err
	}

	return a.Print(report, func(out io.Writer) {
		terminal.Line(out, "%s, %s; %d of them, %s, are new there", terminal.Count(len(report.Runs), "run"),
			terminal.Count(report.Objects, "object"), report.Written, terminal.Megabytes(report.Bytes))
	})
}

// openFolder opens a folder of objects, and creates it if fill is set.
func openFolder(dir string, fill bool) (store.Bucket, error) {
	var err error
	if fill {
		err = os.MkdirAll(dir, 0o700)
	} else {
		_, err = os.Stat(filepath.Join(dir, "runs"))
	}
	if err != nil {
		return nil, fault.New(fault.Invalid, "%s: expected a folder of copy: %w", dir, err)
	}

	return store.Backup{Files: store.Files{Dir: dir}}, nil
}

// openPlace opens one end of a copy: the own store, a folder, or a bucket on an S3 server. If fill is set, objects are
// copied into it, so a folder need not exist.
func openPlace(ctx context.Context, a *app.App, place string, fill bool) (store.Bucket, error) {
	if place == ownStore {
		open := a.OpenObjects
		if fill {
			open = a.OpenStore
		}
		keeper, _, err := open()

		return keeper, err
	}
	if !strings.Contains(place, "://") {
		if place == "" {
			return nil, fault.New(fault.Invalid, "name both stores: %s, a folder, or https://host:9000/bucket",
				ownStore)
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
		return nil, fault.New(fault.Invalid, "expected %s, a folder, or a URL such as https://host:9000/bucket "+
			"without a password, not %q", ownStore, config.Redacted(place))
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
