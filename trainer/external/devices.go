package external

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/collabui/collabui/fault"
)

// Devices are the GPUs of a host, each used by one job at a time.
type Devices struct {
	mu    sync.Mutex
	free  []string
	total int
	back  chan struct{} // closed when one comes back
}

// NewDevices makes a pool of devices by the names that CUDA_VISIBLE_DEVICES knows: "0", "1", or UUIDs.
func NewDevices(ids []string) *Devices {
	return &Devices{free: append([]string{}, ids...), total: len(ids), back: make(chan struct{})}
}

// Take waits for n devices and takes them at once, so that no two jobs hold a part each of what both need. More than there are is an invalid fault.
func (d *Devices) Take(ctx context.Context, n int) (ids []string, release func(), err error) {
	if n == 0 {
		return nil, func() {}, nil
	}
	total := 0
	if d != nil {
		total = d.total
	}
	if n > total {
		return nil, nil, fault.New(fault.Invalid, "the job asks for %d GPUs, this worker has %d: set `devices` in trainer.options, or start the worker with --gpus", n, total)
	}
	for {
		d.mu.Lock()
		if len(d.free) >= n {
			ids, d.free = append([]string{}, d.free[:n]...), d.free[n:]
			d.mu.Unlock()
			return ids, func() {
				d.mu.Lock()
				defer d.mu.Unlock()
				d.free = append(d.free, ids...)
				close(d.back)
				d.back = make(chan struct{})
			}, nil
		}
		wait := d.back
		d.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		}
	}
}

// Share makes the server on this host's GPU sleep while a job trains. The gateway beside the server (`collabui worker --roles serve`) holds a lease: when this process
// dies the server wakes by itself.
type Share struct {
	URL string // of the gateway, without /v1
	Key string // that clients of the gateway send

	mu   sync.Mutex
	jobs int
	stop context.CancelFunc
}

const (
	shareLease = 60 * time.Second
	shareRenew = 15 * time.Second
	shareWait  = 5 * time.Minute // for the server to drain and sleep
)

// Sleep puts the server to sleep, or joins a job that did; the returned function ends it, and the last one wakes the server.
func (s *Share) Sleep(ctx context.Context) (func(), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.jobs == 0 {
		if err := s.post(ctx, "/sleep", shareWait); err != nil {
			return nil, err
		}
		renew, stop := context.WithCancel(context.WithoutCancel(ctx))
		s.stop = stop
		go func() {
			for {
				select {
				case <-time.After(shareRenew):
					_ = s.post(renew, "/sleep", shareRenew) // the next one may get through; the lease is several times as long
				case <-renew.Done():
					return
				}
			}
		}()
	}
	s.jobs++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.jobs--; s.jobs == 0 {
			s.stop()
			_ = s.post(context.WithoutCancel(ctx), "/wake_up", shareWait) // else the lease runs out
		}
	}, nil
}

func (s *Share) post(ctx context.Context, path string, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	body, _ := json.Marshal(map[string]any{"lease_s": shareLease.Seconds()})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(s.URL, "/")+path, bytes.NewReader(body))
	if err != nil {
		return fault.New(fault.Invalid, "the server that shares the GPU: %w", err)
	}
	if s.Key != "" {
		req.Header.Set("Authorization", "Bearer "+s.Key)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return fault.New(fault.Transient, "the server that shares the GPU: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(res.Body, 400))
		return fault.New(fault.Transient, "the server that shares the GPU does not %s: %s %s", strings.Trim(path, "/"), res.Status, fmt.Sprintf("%q", said))
	}
	return nil
}
