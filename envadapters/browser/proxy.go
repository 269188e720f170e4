package browser

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"time"

	"github.com/collabui/collabui/envadapters/hosts"
	"github.com/collabui/collabui/fault"
)

// EnvHosts is the environment variable that lists the hosts that pages may reach besides their own server, as HOST or
// HOST:PORT, separated by commas. A * stands for any part of a name, as in *.example.org. The loopback is reached only
// if the list names it, and link-local addresses are never reached, even through a name.
const EnvHosts = "COLLABUI_BROWSER_HOSTS"

// connectLimit bounds how long connecting to a host may take.
const connectLimit = 10 * time.Second

// serveProxy serves a proxy to the hosts of a list until it is closed. Chromium itself has no rule about the addresses
// that names resolve to. If the list is empty, no proxy runs and its address is empty.
func serveProxy(list string) (address string, closeIt func(), err error) {
	if strings.TrimSpace(list) == "" {
		return "", func() {}, nil
	}
	listener, err := listen()
	if err != nil {
		return "", nil, fault.New(fault.Transient, "listen for the proxy of pages: %w", err)
	}
	server := &http.Server{Handler: proxyTo(hosts.Parse(EnvHosts, list)), ReadHeaderTimeout: headerLimit}
	go func() { _ = server.Serve(listener) }()

	return "http://" + listener.Addr().String(), func() { _ = server.Close() }, nil
}

// proxyTo forwards requests to the hosts of a list, and opens tunnels to them.
func proxyTo(list hosts.List) http.Handler {
	transport := &http.Transport{DisableCompression: true, IdleConnTimeout: time.Minute}
	hosts.Hold(transport, func() hosts.List { return list }, connectLimit)
	refuse := func(w http.ResponseWriter, _ *http.Request, err error) {
		http.Error(w, err.Error(), http.StatusForbidden)
	}
	forward := &httputil.ReverseProxy{
		Transport: transport, ErrorHandler: refuse, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
		Rewrite: func(*httputil.ProxyRequest) {}, // a request to a proxy names its server
	}

	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodConnect:
			out, err := list.Dial(r.Context(), "tcp", r.Host, connectLimit)
			if err != nil {
				refuse(w, r, err)

				return
			}
			tunnel(w, out)
		case r.URL.Scheme == "http":
			forward.ServeHTTP(w, r)
		default:
			http.Error(w, "this is a proxy", http.StatusBadRequest)
		}
	})
}

// tunnel copies between a client and a connection until one of them ends.
func tunnel(w http.ResponseWriter, out net.Conn) {
	defer func() { _ = out.Close() }()
	in, early, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer func() { _ = in.Close() }()
	if _, err := io.WriteString(in, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}

	ended := make(chan struct{}, 2)
	pass := func(to io.Writer, from io.Reader) {
		_, _ = io.Copy(to, from)
		ended <- struct{}{}
	}
	go pass(out, early)
	go pass(in, out)
	<-ended
}
