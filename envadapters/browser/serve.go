package browser

import (
	"context"
	"math/rand/v2"
	"net"
	"net/http"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
)

// headerLimit bounds how long a request's header may take to arrive.
const headerLimit = 5 * time.Second

// Serve serves pages until the caller closes the server. The server has a loopback address of its own, so that no other
// service of this machine is of the same site. The base URL has no trailing slash. The server refuses requests of pages
// of other servers, and of pages whose name was rebound to its address.
func Serve(pages http.Handler) (server *http.Server, base string, err error) {
	listener, err := listen()
	if err != nil {
		return nil, "", fault.New(fault.Transient, "listen for the pages: %w", err)
	}

	server = &http.Server{Handler: own(pages, listener.Addr().String()), ReadHeaderTimeout: headerLimit}
	go func() { _ = server.Serve(listener) }()

	return server, "http://" + listener.Addr().String(), nil
}

// listen listens on a free port of an address drawn from 127.0.0.0/8. Systems other than Linux have only 127.0.0.1,
// where the port alone separates pages from other services.
func listen() (net.Listener, error) {
	ip := net.IPv4(127, byte(1+rand.N(254)), byte(rand.N(256)), byte(1+rand.N(254)))
	if listener, err := net.Listen("tcp", ip.String()+":0"); err == nil {
		return listener, nil
	}

	return net.Listen("tcp", "127.0.0.1:0")
}

// own lets through requests of programs and of the pages at this address.
func own(pages http.Handler, address string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		site := r.Header.Get("Sec-Fetch-Site")
		origin := r.Header.Get("Origin")
		switch {
		case r.Host != address:
			http.Error(w, "this server answers only as "+address, http.StatusMisdirectedRequest)
		case site != "" && site != "same-origin" && site != "none", origin != "" && origin != "http://"+address:
			http.Error(w, "this server answers no page of another server", http.StatusForbidden)
		default:
			pages.ServeHTTP(w, r)
		}
	})
}

// Check reports whether a suite of web pages can be used here: it looks for Chromium, opens a tab and resets one task.
// fix is the advice to give if the task cannot be reset.
func Check(ctx context.Context, suite envadapters.Suite, task domain.Task, fix string) envadapters.Health {
	if _, err := Find(); err != nil {
		return envadapters.Health{
			State:  envadapters.Dead,
			Detail: err.Error(),
			Fix:    "apt-get install chromium-headless-shell",
		}
	}

	return envadapters.Probe(ctx, suite, task, fix)
}
