package external

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/collabui/collabui/fault"
)

// Share makes the server on this host's GPU sleep while a job trains. The gateway next to the server
// (`collabui worker --roles serve`) holds a lease, so the server wakes by itself if this process dies.
type Share struct {
	// URL is the address of the gateway, without /v1.
	URL string
	// Key returns what clients of the gateway send; nil means none.
	Key func() string

	mu   sync.Mutex
	jobs int
	stop context.CancelFunc
}

const (
	shareLease = 60 * time.Second
	shareRenew = 15 * time.Second
	shareWait  = 5 * time.Minute // for the server to drain and fall asleep
)

// Sleep puts the server to sleep, or joins a job that did so. The returned function ends the sleep; the last one wakes
// the server.
func (s *Share) Sleep(ctx context.Context) (wake func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if s.jobs == 0 {
		if err := s.post(ctx, "/sleep", shareWait); err != nil {
			return nil, err
		}
		renew, stop := context.WithCancel(context.WithoutCancel(ctx))
		s.stop = stop
		go s.renew(renew)
	}
	s.jobs++

	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()

		if s.jobs--; s.jobs == 0 {
			s.stop()
			_ = s.post(context.WithoutCancel(ctx), "/wake_up", shareWait) // If it fails, the lease runs out.
		}
	}, nil
}

// renew renews the lease until the context ends.
func (s *Share) renew(ctx context.Context) {
	for {
		select {
		case <-time.After(shareRenew):
			_ = s.post(ctx, "/sleep", shareRenew) // The lease outlasts several failures.
		case <-ctx.Done():
			return
		}
	}
}

// post sends a request with the lease to the gateway.
func (s *Share) post(ctx context.Context, path string, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	body, err := json.Marshal(map[string]any{"lease_s": shareLease.Seconds()})
	if err != nil {
		return fault.As(fault.Fatal, err)
	}
	url := strings.TrimSuffix(s.URL, "/") + path
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return fault.New(fault.Invalid, "the server that shares the GPU: %w", err)
	}
	if s.Key != nil {
		req.Header.Set("Authorization", "Bearer "+s.Key()) // a gateway without keys does not look
	}

	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return fault.New(fault.Transient, "the server that shares the GPU: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(res.Body, 400))

		return fault.New(fault.Transient, "the server that shares the GPU refuses %s: %s %q", path, res.Status, said)
	}

	return nil
}
