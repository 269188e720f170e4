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

	"github.com/collabui/collabui/envadapters/hosts"
	"github.com/collabui/collabui/envadapters/openenv"
)

// restart is the reason for a restart of a slot. The zero value means no restart.
type restart struct {
	why     string
	recycle bool // the emulator is sound, but old or large
	seen    int  // the newest lease when the reason was seen; a later one belongs to another worker
}

// How long a companion may take to answer over HTTP.
const (
	readyLimit = 5 * time.Second
	probeLimit = 15 * time.Second
)

// mend brings a slot back into service in the background. If r has a reason, it restarts the emulator first.
func (p *pool) mend(s *slot, r restart) {
	p.wg.Go(func() {
		began := time.Now()
		for p.ctx.Err() == nil {
			if r.why == "" {
				r = p.inspect(s)
				if r.why == "" {
					break
				}
			}
			if p.ctx.Err() != nil {
				return
			}

			p.restart(s, r)
			r = restart{}
		}

		p.mu.Lock()
		defer p.mu.Unlock()
		s.state = free
		s.why = ""
		s.restarts = 0
		p.figures.MendS += time.Since(began).Seconds()
		close(p.changed)
		p.changed = make(chan struct{})
	})
}

// level is the level of health that a companion reports.
type level string

const (
	levelBusy level = "busy"
	levelDead level = "dead"
)

// readiness is the answer of GET /ready.
type readiness struct {
	Level  level   `json:"level"`
	Leased bool    `json:"leased"`
	Detail string  `json:"detail"`
	BusyS  float64 `json:"busy_s"`
	RSS    float64 `json:"rss_mb"`

	Generation int `json:"generation"` // the number of the newest lease
}

// inspect polls a slot until it is ready, or returns the reason why it must be restarted. It waits for a process that
// does not answer, because the container's supervisor starts it again.
func (p *pool) inspect(s *slot) restart {
	began := time.Now()
	for p.ctx.Err() == nil {
		var r readiness
		if err := p.get(s, http.MethodGet, "/ready", readyLimit, &r); err != nil {
			p.note(s, mending, "its companion does not answer: "+err.Error())
			if no := hosts.Refused(err); no != nil {
				p.refuse(s, no)
			}
			p.pause(p.limits.poll)

			continue
		}

		hangs := r.BusyS > p.limits.hang.Seconds()
		wait := ""
		switch {
		case r.Leased && r.Level != levelDead && !hangs:
			wait = "leased by another worker"
			began = time.Now()
		case r.Level == levelBusy && hangs:
			return restart{seen: r.Generation, why: fmt.Sprintf("a call has hung for %.0f s", r.BusyS)}
		case r.Level == levelBusy && time.Since(began) > p.limits.patience:
			return restart{seen: r.Generation, why: fmt.Sprintf("busy for %v: %s", p.limits.patience, r.Detail)}
		case r.Level == levelBusy:
			wait = "busy: " + r.Detail
		case r.Level == levelDead:
			return restart{seen: r.Generation, why: "the emulator is dead: " + r.Detail}
		case p.limits.maxMemory > 0 && r.RSS > p.limits.maxMemory:
			return restart{
				seen: r.Generation, why: fmt.Sprintf("age: the emulator takes %.0f MB", r.RSS), recycle: true,
			}
		default:
			err := p.probe(s)
			if err == nil {
				return restart{}
			}
			if !errors.Is(err, errConflict) {
				return restart{seen: r.Generation, why: "the probe failed: " + err.Error()}
			}
			wait = "busy"
		}

		p.note(s, mending, wait)
		p.pause(p.limits.poll)
	}

	return restart{}
}

// probe makes the companion use its emulator. The error is errConflict while an episode or a call is in progress.
func (p *pool) probe(s *slot) error {
	var answer struct {
		OK     bool   `json:"ok"`
		Detail string `json:"detail"`
	}
	err := p.get(s, http.MethodPost, "/probe", probeLimit, &answer)
	if err == nil && !answer.OK {
		return errors.New(answer.Detail)
	}

	return err
}

// restart restarts a slot's emulator and waits until the companion has begun the restart. Consecutive restarts are
// spaced; too many of them put the slot into quarantine.
func (p *pool) restart(s *slot, r restart) {
	p.mu.Lock()
	n := s.restarts
	s.restarts++
	s.episodes = 0
	s.lostTrees = 0
	p.figures.Restarts++
	if r.recycle {
		p.figures.Recycled++
	}
	p.mu.Unlock()

	switch {
	case n >= p.limits.restarts:
		p.note(s, quarantined, fmt.Sprintf("%d restarts did not help: %s", n, r.why))
		p.pause(p.limits.quarantine)
		p.mu.Lock()
		s.restarts = 1
		p.mu.Unlock()
	case n > 0:
		p.note(s, mending, r.why)
		p.pause(min(p.limits.maxBackoff, p.limits.backoff<<(n-1)))
	}

	p.note(s, mending, "restarted: "+r.why)
	err := p.get(s, http.MethodPost, fmt.Sprintf("/restart?seen=%d", r.seen), readyLimit, nil)
	if errors.Is(err, errConflict) { // work began while this restart waited
		err = errors.New("leased by another worker")
	}
	if err != nil {
		p.note(s, mending, "a restart was refused: "+err.Error())
	}
	p.pause(p.limits.poll)
}

func (p *pool) note(s *slot, st state, why string) {
	p.mu.Lock()
	defer p.mu.Unlock()

	s.state = st
	s.why = why
}

func (p *pool) pause(duration time.Duration) {
	select {
	case <-time.After(duration):
	case <-p.ctx.Done():
	}
}

// errConflict stands for status 409: an episode or a call is in progress.
var errConflict = errors.New("the companion is at work")

// maxBody is the largest answer over HTTP that is read, in bytes.
const maxBody = 1 << 20

// get makes a request and, if out is not nil, decodes the answer into it.
func (p *pool) get(s *slot, method, path string, limit time.Duration, out any) error {
	ctx, cancel := context.WithTimeout(p.ctx, limit)
	defer cancel()

	req, err := http.NewRequestWithContext(ctx, method, s.base+path, strings.NewReader("{}"))
	if err != nil {
		return err
	}
	if err := openenv.Authorize(req.Header, req.URL.String()); err != nil {
		return err
	}
	res, err := openenv.Client.Do(req)
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
