package openenv

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/hosts"
	"github.com/collabui/collabui/fault"
)

var _ envadapters.Served = (*Suite)(nil)

// Servers queries the health of all servers over HTTP, concurrently.
func (s *Suite) Servers(ctx context.Context) []envadapters.Server {
	out := make([]envadapters.Server, len(s.o.Servers))
	var wg sync.WaitGroup
	for i, address := range s.o.Servers {
		wg.Go(func() {
			out[i] = envadapters.Server{Address: address, State: envadapters.Ready}
			if err := healthy(ctx, address); err != nil {
				out[i].State = envadapters.Dead
				out[i].Detail = err.Error()
			}
		})
	}
	wg.Wait()

	return out
}

// healthy returns an error if the server of a ws:// or wss:// address cannot be reached. Any answer counts, because not
// every server has a page for its health.
func healthy(ctx context.Context, address string) error {
	parsed, err := url.Parse(strings.Replace(address, "ws", "http", 1))
	if err != nil {
		return fault.New(fault.Invalid, "%w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, parsed.Scheme+"://"+parsed.Host+"/health", nil)
	if err != nil {
		return fault.New(fault.Invalid, "%w", err)
	}
	if err := Authorize(req.Header, address); err != nil {
		return err
	}
	res, err := Client.Do(req)
	if no := hosts.Refused(err); no != nil {
		return no
	}
	if err != nil {
		return fault.New(fault.Transient, "it does not answer: %w", err)
	}
	_ = res.Body.Close()

	return redirected(address, res)
}
