package browser

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
)

// headerLimit bounds how long a request's header may take to arrive.
const headerLimit = 5 * time.Second

// Serve serves pages on a free loopback port until the caller closes the server. It returns the base URL, which has no
// trailing slash.
func Serve(pages http.Handler) (s *http.Server, base string, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", fault.New(fault.Transient, "listen for the pages: %w", err)
	}

	s = &http.Server{Handler: pages, ReadHeaderTimeout: headerLimit}
	go func() { _ = s.Serve(l) }()

	return s, "http://" + l.Addr().String(), nil
}

// Check reports whether a suite of web pages can be used here: it looks for Chromium, opens a tab and resets one task.
// fix is what to do if the task cannot be reset.
func Check(ctx context.Context, s envadapters.Suite, t domain.Task, fix string) envadapters.Health {
	if _, err := Find(); err != nil {
		return envadapters.Health{
			State:  envadapters.Dead,
			Detail: err.Error(),
			Fix:    "apt-get install chromium-headless-shell",
		}
	}

	return envadapters.Probe(ctx, s, t, fix)
}
