// Package fakephone is a faithful fake of the AndroidWorld companion with switchable faults: the same frames, leases, health levels and restarts over a phone that is a panel of
// buttons. It knows the truth of every episode, so that tests can tell a contaminated one. Only tests import it.
package fakephone

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// Task is a task of the fake: its goal names buttons to tap, in order, then status complete.
type Task struct {
	Name  string
	Group string
	Steps int
	Taps  int
}

// Faults are shares of calls, 0 to 1, at which the phone misbehaves.
type Faults struct {
	Hang    float64 // a step runs for Hung, whoever waits, and is executed behind that: the late answer of an expired lease
	Offline float64 // the process is gone for a while, the episode with it
	Dirty   float64 // the task's state cannot be restored, until a restart
	A11y    float64
	ADB     float64              // until a restart
	Init    map[string]float64   // by task: it cannot be set up
	Lies    float64              // an answer carries another lease's number
	Hung    time.Duration        // how long a call hangs
	Gone    time.Duration        // how long a process is gone
	Boot    time.Duration        // of a restart
	Never   map[string]bool      // tasks that can never be set up
	Latency func() time.Duration // of a step; nil: none
}

// Truth is what really happened to an episode.
type Truth struct {
	Task       string
	Seed       uint64
	Generation int
	Success    bool
	Foreign    int // actions of another lease that reached the phone while it was under way
	Over       bool
}

// Phone is one companion with its emulator.
type Phone struct {
	tasks  []Task
	faults Faults
	addr   string

	mu         sync.Mutex
	rng        *rand.Rand
	srv        *http.Server
	generation int
	leased     bool
	asked      int
	busySince  time.Time // a call runs
	booting    bool
	dead       string // until a restart
	broken     bool   // no restart helps
	episode    *Truth
	at         int // taps done
	steps      int
	budget     int
	buttons    []string
	want       []string
	owner      int // generation whose call runs
	truths     []*Truth
	Restarts   int
	Stale      int // frames refused
	TornDown   int
	conns      map[*websocket.Conn]bool
}

// New starts a fake on a loopback port of its own.
func New(tasks []Task, f Faults, seed uint64) (*Phone, error) {
	p := &Phone{tasks: tasks, faults: f, rng: rand.New(rand.NewPCG(seed, 9)), conns: map[*websocket.Conn]bool{}}
	return p, p.listen("127.0.0.1:0")
}

// URL is its ws:// address.
func (p *Phone) URL() string { return "ws://" + p.addr + "/ws" }

func (p *Phone) listen(addr string) error {
	var l net.Listener
	var err error
	for range 50 { // the port of a process that was just gone
		if l, err = net.Listen("tcp", addr); err == nil {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if err != nil {
		return err
	}
	p.addr = l.Addr().String()
	mux := http.NewServeMux()
	mux.HandleFunc("/health", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"status":"healthy"}`)) })
	mux.HandleFunc("/ready", p.ready)
	mux.HandleFunc("/probe", p.probe)
	mux.HandleFunc("/restart", p.restart)
	mux.HandleFunc("/ws", p.session)
	p.srv = &http.Server{Handler: mux}
	go func(s *http.Server) { _ = s.Serve(l) }(p.srv)
	return nil
}

// Close ends it.
func (p *Phone) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop()
	_ = p.srv.Close()
}

// drop ends all connections. Callers hold mu.
func (p *Phone) drop() {
	for c := range p.conns {
		go func() { _ = c.CloseNow() }()
	}
	p.conns = map[*websocket.Conn]bool{}
}

// Screen is what an episode shows from the top, and which of it the goal names, in order.
func Screen(t Task, seed uint64) (buttons, want []string) {
	r := rand.New(rand.NewPCG(seed, uint64(len(t.Name))))
	for i := range 6 {
		buttons = append(buttons, fmt.Sprintf("b%d-%d", i, r.IntN(1000)))
	}
	for _, k := range r.Perm(6)[:t.Taps] {
		want = append(want, buttons[k])
	}
	return buttons, want
}

// Truths gives what really happened, by episode.
func (p *Phone) Truths() []Truth {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []Truth
	for _, t := range p.truths {
		out = append(out, *t)
	}
	return out
}

// Asked counts looks at its health.
func (p *Phone) Asked() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked
}

func (p *Phone) ready(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked++
	level, busy := "ready", 0.0
	switch {
	case p.booting:
		level = "busy"
	case !p.busySince.IsZero():
		level, busy = "busy", time.Since(p.busySince).Seconds()
	case p.dead != "":
		level = "degraded" // it does not know before it tries
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"level": level, "detail": p.dead, "generation": p.generation, "leased": p.leased, "busy_s": busy, "episodes": len(p.truths), "restarts": p.Restarts, "failures": map[string]int{}, "rss_mb": 100, "boot_s": 0.1})
}

func (p *Phone) probe(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.booting || !p.busySince.IsZero() || p.episode != nil {
		w.WriteHeader(http.StatusConflict)
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"ok": p.dead == "", "took_s": 0.01, "detail": p.dead})
}

func (p *Phone) restart(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w.WriteHeader(http.StatusAccepted)
	p.reboot()
}

// reboot kills and boots the emulator; every lease is void. Callers hold mu.
func (p *Phone) reboot() {
	if p.booting {
		return
	}
	p.Restarts++
	p.generation++
	p.booting, p.leased, p.episode, p.busySince = true, false, nil, time.Time{}
	time.AfterFunc(p.faults.Boot, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.booting = false; !p.broken {
			p.dead = ""
		}
	})
}

// vanish ends the process for a while. Callers hold mu.
func (p *Phone) vanish() {
	p.drop()
	srv := p.srv
	p.leased, p.episode, p.busySince = false, nil, time.Time{}
	p.generation++
	go func() {
		_ = srv.Close()
		time.Sleep(p.faults.Gone)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.dead = ""
		_ = p.listen(p.addr)
	}()
}

type refusal struct {
	Code    string  `json:"code"`
	Message string  `json:"message"`
	Retry   float64 `json:"retry_after_s,omitempty"`
}

func (p *Phone) session(w http.ResponseWriter, r *http.Request) {
	ws, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	p.mu.Lock()
	p.conns[ws] = true
	p.mu.Unlock()
	lease := 0 // guarded by mu
	defer func() {
		_ = ws.CloseNow()
		p.end(&lease)
	}()
	frames := make(chan []byte, 8)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	go func() { // a lost connection is seen while a call runs
		defer cancel()
		for {
			_, raw, err := ws.Read(ctx)
			if err != nil {
				p.end(&lease)
				return
			}
			frames <- raw
		}
	}()
	for {
		select {
		case raw := <-frames:
			var f struct {
				Type string
				Data json.RawMessage
			}
			_ = json.Unmarshal(raw, &f)
			if f.Type == "close" {
				return
			}
			data, bad := p.handle(f.Type, f.Data, &lease)
			kind := map[string]string{"state": "state"}[f.Type]
			if kind == "" {
				kind = "observation"
			}
			if bad != nil {
				kind, data = "error", bad
			}
			b, _ := json.Marshal(map[string]any{"type": kind, "data": data})
			if ws.Write(ctx, websocket.MessageText, b) != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// end ends a lease and tears its episode down; a call that still runs is let end first, and touches nothing then.
func (p *Phone) end(lease *int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if *lease == 0 || *lease != p.generation {
		return
	}
	if p.episode != nil {
		p.episode.Over = true
		p.TornDown++
	}
	p.leased, p.episode = false, nil
	p.generation++ // fences what still runs
}

func (p *Phone) chance(share float64) bool { return share > 0 && p.rng.Float64() < share }

func (p *Phone) handle(kind string, data json.RawMessage, lease *int) (any, *refusal) {
	switch kind {
	case "state":
		return p.state(data, lease)
	case "reset":
		return p.reset(data, lease)
	case "step":
		return p.step(data, lease)
	}
	return nil, &refusal{Code: "UNKNOWN_TYPE"}
}

// Break breaks the emulator for good: no restart helps.
func (p *Phone) Break() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dead, p.broken = "ADB", true
}
