package androidworld

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// mend brings a slot back into service in the background; restart says why it must be restarted first, if it must.
func (p *pool) mend(s *slot, restart string) {
	p.wg.Go(func() {
		began := time.Now()
		for p.ctx.Err() == nil {
			if restart == "" {
				if restart = p.sound(s); restart == "" {
					break
				}
			}
			if p.ctx.Err() != nil {
				return
			}
			p.restart(s, restart)
			restart = ""
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		s.state, s.why, s.restarts = free, "", 0
		p.figures.MendS += time.Since(began).Seconds()
		close(p.changed)
		p.changed = make(chan struct{})
	})
}

// readiness is the answer of GET /ready.
type readiness struct {
	Level  string  `json:"level"`
	Leased bool    `json:"leased"`
	Detail string  `json:"detail"`
	BusyS  float64 `json:"busy_s"`
	RSS    float64 `json:"rss_mb"`
}

// sound looks at a slot until it is ready, and gives why it must be restarted where it must. A process that does not answer is waited for: whoever runs the container starts
// it again.
func (p *pool) sound(s *slot) (restart string) {
	began := time.Now()
	for p.ctx.Err() == nil {
		var r readiness
		if err := p.get(s, http.MethodGet, "/ready", 5*time.Second, &r); err != nil {
			p.note(s, mending, "its companion does not answer: "+err.Error())
			p.pause(p.p.poll)
			continue
		}
		switch {
		case r.Leased && r.Level != "dead" && r.BusyS <= p.p.hang.Seconds():
			p.note(s, mending, "leased by another worker")
			began = time.Now()
			p.pause(p.p.poll)
			continue
		case r.Level == "busy" && r.BusyS > p.p.hang.Seconds():
			return fmt.Sprintf("a call has hung for %.0f s", r.BusyS)
		case r.Level == "busy" && time.Since(began) > p.p.patience:
			return fmt.Sprintf("busy for %v: %s", p.p.patience, r.Detail)
		case r.Level == "busy":
			p.note(s, mending, "busy: "+r.Detail)
			p.pause(p.p.poll)
			continue
		case r.Level == "dead":
			return "the emulator is dead: " + r.Detail
		case p.p.maxMemory > 0 && r.RSS > p.p.maxMemory:
			return fmt.Sprintf("age: the emulator takes %.0f MB", r.RSS)
		}
		var probe struct {
			OK     bool   `json:"ok"`
			Detail string `json:"detail"`
		}
		err := p.get(s, http.MethodPost, "/probe", 15*time.Second, &probe)
		if errors.Is(err, errConflict) {
			p.note(s, mending, "busy")
			p.pause(p.p.poll)
			continue
		}
		if err == nil && probe.OK {
			return ""
		}
		if err != nil {
			probe.Detail = err.Error()
		}
		return "the probe failed: " + probe.Detail
	}
	return ""
}

// restart restarts a slot's emulator and waits for the companion to be at work on it. Restarts in a row are spaced; too many put the slot into quarantine.
func (p *pool) restart(s *slot, why string) {
	p.mu.Lock()
	n := s.restarts
	s.restarts++
	s.episodes, s.lost = 0, 0
	p.figures.Restarts++
	if strings.HasPrefix(why, "age") {
		p.figures.Recycled++
	}
	p.mu.Unlock()
	switch {
	case n >= p.p.restarts:
		p.note(s, quarantined, fmt.Sprintf("%d restarts did not help: %s", n, why))
		p.pause(p.p.quarantine)
		p.mu.Lock()
		s.restarts = 1
		p.mu.Unlock()
	case n > 0:
		p.note(s, mending, why)
		p.pause(min(p.p.maxBackoff, p.p.backoff<<(n-1)))
	}
	p.note(s, mending, "restarted: "+why)
	if err := p.get(s, http.MethodPost, "/restart", 5*time.Second, nil); err != nil {
		p.note(s, mending, "a restart was refused: "+err.Error())
	}
	p.pause(p.p.poll)
}

func (p *pool) note(s *slot, st state, why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.state, s.why = st, why
}

func (p *pool) pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-p.ctx.Done():
	}
}

// errConflict is status 409: an episode or a call is under way.
var errConflict = errors.New("the companion is at work")

// maxBody bounds an answer over HTTP, in bytes.
const maxBody = 1 << 20

func (p *pool) get(s *slot, method, path string, limit time.Duration, out any) error {
	ctx, cancel := context.WithTimeout(p.ctx, limit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, s.base+path, strings.NewReader("{}"))
	if err != nil {
		return err
	}
	res, err := p.client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	switch {
	case res.StatusCode == http.StatusConflict:
		return errConflict
	case res.StatusCode/100 != 2:
		return fmt.Errorf("%s %s: %s", method, path, res.Status)
	case out == nil:
		return nil
	}
	return json.NewDecoder(io.LimitReader(res.Body, maxBody)).Decode(out)
}
