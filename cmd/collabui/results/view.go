package results

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/cmd/collabui/status"
	"github.com/collabui/collabui/cmd/collabui/terminal"
	"github.com/collabui/collabui/internal/config"
	"github.com/collabui/collabui/internal/httpd"
	"github.com/collabui/collabui/internal/observe/events"
	"github.com/collabui/collabui/internal/records/runs"
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
		Use:   "view",
		Short: "Serve pages about all runs, live",
		Long: `view serves the pages of report for everything in the store, live: a run's curves while it trains, and
every episode before it ends. Pages change nothing: note, set and fork do.

The services of a data folder have a viewer already, whose address it then prints. With --listen it serves another, and
without services it reads the files of the folder.

On the loopback it needs no key. To be reached from other machines it needs one in ` + envViewKey + ` (or
` + envViewKey + `_FILE), which a browser asks for as a password, with any name; put a proxy with TLS in front of it.`,
		Example: "  collabui view\n  collabui view --listen 127.0.0.1:8090",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runView(cmd.Context(), a, options) },
	}
	cmd.Flags().StringVar(&options.listen, "listen", "", "`ADDRESS` to listen on (default "+listenDefault+")")
	app.AddTLSFlags(cmd.Flags(), &options.tls)
	options.child.AddFlags(cmd.Flags())

	return cmd
}

func runView(ctx context.Context, a *app.App, options viewOptions) error {
	lib, err := library(a)
	if err != nil {
		return err
	}
	key, err := config.Secret(envViewKey)
	if err != nil {
		return err
	}
	endpoints := a.RunningEndpoints()
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

// originOf returns the origin of an address, as browsers write it, or "".
func originOf(address string) string {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" {
		return ""
	}

	return parsed.Scheme + "://" + parsed.Host
}

// indexKept is how long the viewer keeps its list: at least this long, and long enough that making the list takes at
// most a twentieth of the time.
const indexKept = 10 * time.Second

// index returns a function that lists runs, experiments and lines.
func index(bucket store.Bucket) func(context.Context) (view.Names, error) {
	var mu sync.Mutex
	var known view.Names
	var until time.Time

	return func(ctx context.Context) (view.Names, error) {
		mu.Lock()
		defer mu.Unlock()
		if time.Now().Before(until) {
			return known, nil
		}
		var names view.Names
		var err error
		began := time.Now()
		if names.Runs, err = runs.Names(ctx, bucket); err != nil {
			return names, err
		}
		if names.Experiments, err = bucket.Folders(ctx, "experiments/"); err != nil {
			return names, err
		}
		if names.Lines, err = bucket.Folders(ctx, "lines/"); err != nil {
			return names, err
		}
		known = names
		until = time.Now().Add(max(indexKept, 20*time.Since(began)))

		return names, nil
	}
}
