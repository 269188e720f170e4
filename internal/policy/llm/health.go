package llm

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// ServerState is the state of a server that Health found.
type ServerState struct {
	URL         string // without a password
	OK          bool
	Detail      string // what is wrong; empty if OK
	Outstanding int    // requests of this process
}

// maxHealth is how long a server may take to answer.
const maxHealth = 5 * time.Second

// Health asks all servers concurrently whether they are healthy and returns their states, in the order in which they
// were named. It takes at most five seconds.
func (p *Pool) Health(ctx context.Context) []ServerState {
	ctx, cancel := context.WithTimeout(ctx, maxHealth)
	defer cancel()

	out := make([]ServerState, len(p.servers))
	var wg sync.WaitGroup
	for i, s := range p.servers {
		wg.Go(func() {
			url := strings.TrimSuffix(s.client.conf.BaseURL, "/v1") + "/health"
			status, says, err := s.client.send(ctx, http.MethodGet, url, nil)
			switch {
			case err != nil:
				out[i].Detail = brief(err.Error())
			case status != http.StatusOK:
				out[i].Detail = fmt.Sprintf("/health answers %d %s", status, brief(string(says)))
			}
		})
	}

	wg.Wait()

	p.mu.Lock()
	defer p.mu.Unlock()

	for i, s := range p.servers {
		out[i].URL, out[i].OK, out[i].Outstanding = s.url, out[i].Detail == "", s.outstanding
	}

	return out
}
