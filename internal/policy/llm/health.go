package llm

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/collabui/collabui/fault"
)

// ServerState is the state of a server that Health found.
type ServerState struct {
	URL         string // without a password
	OK          bool
	Detail      string // what is wrong; empty if OK
	Outstanding int    // requests of this process in flight
}

// maxHealth is the time that a server has to answer.
const maxHealth = 5 * time.Second

// Ready returns a transient fault that describes what is wrong if fewer servers than quorum are healthy. A quorum of 0
// means all servers.
func (p *Pool) Ready(ctx context.Context, quorum int) error {
	healthy := 0
	wrong := ""
	states := p.Health(ctx)
	for _, serverState := range states {
		if serverState.OK {
			healthy++
		} else {
			wrong += "; " + serverState.URL + ": " + serverState.Detail
		}
	}
	if quorum == 0 {
		quorum = len(states)
	}
	if healthy < quorum {
		return fault.New(fault.Transient, "%d of %d policy servers are healthy, %d are needed%s: start the others, "+
			"or set a lower serving.quorum", healthy, len(states), quorum, wrong)
	}

	return nil
}

// Health checks concurrently whether all servers are healthy and returns their states, in the order in which they were
// named. It takes at most five seconds.
func (p *Pool) Health(ctx context.Context) []ServerState {
	ctx, cancel := context.WithTimeout(ctx, maxHealth)
	defer cancel()

	out := make([]ServerState, len(p.servers))
	var wg sync.WaitGroup
	for i, s := range p.servers {
		wg.Go(func() {
			url := strings.TrimSuffix(s.client.conf.BaseURL, "/v1") + "/health"
			got, err := s.client.send(ctx, http.MethodGet, url, nil)
			switch {
			case err != nil:
				out[i].Detail = s.client.words(err.Error())
			case got.status != http.StatusOK:
				out[i].Detail = fmt.Sprintf("/health answers %d %s", got.status, s.client.words(string(got.body)))
			}
		})
	}

	wg.Wait()

	p.mu.Lock()
	defer p.mu.Unlock()

	for i, s := range p.servers {
		out[i].URL = s.url
		out[i].OK = out[i].Detail == ""
		out[i].Outstanding = s.outstanding
	}

	return out
}
