package results

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/cmd/collabui/status"
	"github.com/collabui/collabui/cmd/collabui/terminal"
	"github.com/collabui/collabui/internal/config"
	"github.com/collabui/collabui/internal/httpd"
	"github.com/collabui/collabui/internal/interop"
	"github.com/collabui/collabui/internal/observe/events"
	"github.com/collabui/collabui/internal/records/lines"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/records/schedules"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/view"
)

// envViewKey is the environment variable with the key of the viewer.
const envViewKey = "COLLABUI_VIEW_KEY"

// viewOptions are the flags of view.
type viewOptions struct {
	child  app.ChildOptions
	listen string
	tls    httpd.TLS
}

// listenDefault is the default address of the viewer.
const listenDefault = "127.0.0.1:8085"

func viewCmd(a *app.App) *cobra.Command {
	var options viewOptions
	cmd := &cobra.Command{
		Use:   "view [FILE_OR_FOLDER]",
		Short: "Serve pages about all runs, live, or about trajectories of other programs",
		Long: `view serves the pages of report for everything in the store, live: a run's curves while it trains, and
every episode before it ends. Pages change nothing: note, set and fork do.

The services of a data folder have a viewer already, whose address it then prints. With --listen it serves another, and
without services it reads the files of the folder.

With FILE_OR_FOLDER it serves, instead, what other programs recorded there: trajectories of ATIF (Harbor) and logs of
Inspect, .eval or .json.

On the loopback it needs no key. To be reached from other machines it needs one in ` + envViewKey + ` (or
` + envViewKey + `_FILE), which a browser asks for as a password, with any name; put a proxy with TLS in front of it.`,
		Example: "  collabui view\n  collabui view --listen 127.0.0.1:8090\n  collabui view logs/",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return viewForeign(cmd.Context(), a, options, args[0])
			}

			return runView(cmd.Context(), a, options)
		},
	}
	cmd.Flags().StringVar(&options.listen, "listen", "", "`ADDRESS` to listen on (default "+listenDefault+")")
	app.AddTLSFlags(cmd.Flags(), &options.tls)
	options.child.AddFlags(cmd.Flags())

	return cmd
}

func runView(ctx context.Context, a *app.App, options viewOptions) error {
	lib, endpoints, err := library(a)
	if err != nil {
		return err
	}
	key, err := config.Secret(envViewKey)
	if err != nil {
		return err
	}
	if options.listen == "" && endpoints.View != "" {
		return a.Print(map[string]any{"url": endpoints.View},
			func(out io.Writer) { terminal.Line(out, "viewer at %s", endpoints.View) })
	}
	listener, err := httpd.Listen(cmp.Or(options.listen, listenDefault), key, envViewKey, options.tls)
	if err != nil {
		return err
	}
	client, err := endpoints.OpenRedis()
	if err != nil {
		return err
	}
	stream := events.Over(client)
	server := view.Server{
		Library: lib, Temporal: status.TemporalPages(endpoints), Index: index(lib.Bucket),
		Execution: func(ctx context.Context, workflow string) string {
			return status.Execution(ctx, endpoints, workflow)
		},
		Events: func(ctx context.Context, run, after string) (int, string) {
			found, next := stream.Read(ctx, run, after)

			return len(found), next
		},
	}
	at := httpd.URL(listener, "http") + "/"
	err = a.Print(map[string]any{"url": at, "key": key != ""},
		func(w io.Writer) { terminal.Line(w, "viewer at %s", at) })
	if err != nil {
		return err
	}

	ctx = options.child.Lifetime(ctx)
	mux := http.NewServeMux()
	mux.Handle("/", httpd.Locked(server.Handler(ctx), config.Live(envViewKey, key)))
	mux.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})

	return httpd.Serve(ctx, listener, mux, time.Second,
		originOf(endpoints.UI)) // its pages link to the viewer's pages
}

// viewForeign serves the trajectories that other programs wrote into a file or folder.
func viewForeign(ctx context.Context, a *app.App, options viewOptions, path string) error {
	all, err := interop.Trajectories(path)
	if err != nil {
		return err
	}
	key, err := config.Secret(envViewKey)
	if err != nil {
		return err
	}
	listener, err := httpd.Listen(cmp.Or(options.listen, listenDefault), key, envViewKey, options.tls)
	if err != nil {
		return err
	}
	at := httpd.URL(listener, "http") + "/"
	err = a.Print(map[string]any{"url": at, "key": key != "", "trajectories": len(all)}, func(w io.Writer) {
		terminal.Line(w, "%s of %s at %s", terminal.Count(len(all), "trajectory"), path, at)
	})
	if err != nil {
		return err
	}
	pages := httpd.Locked(view.Foreign(filepath.Base(path), all), config.Live(envViewKey, key))

	return httpd.Serve(options.child.Lifetime(ctx), listener, pages, time.Second)
}

// originOf returns the origin of an address, as browsers write it, or "".
func originOf(address string) string {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" {
		return ""
	}

	return parsed.Scheme + "://" + parsed.Host
}

// index returns a function that lists runs, experiments, lines and schedules.
func index(bucket store.Bucket) func(context.Context) (view.Names, error) {
	return func(ctx context.Context) (names view.Names, err error) {
		if names.Runs, err = runs.Names(ctx, bucket); err != nil {
			return names, err
		}
		if names.Experiments, err = bucket.Folders(ctx, "experiments/"); err != nil {
			return names, err
		}
		if names.Lines, err = lines.Names(ctx, bucket); err != nil {
			return names, err
		}
		names.Schedules, err = schedules.Names(ctx, bucket)

		return names, err
	}
}
