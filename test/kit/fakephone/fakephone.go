// Package fakephone is a faithful fake of the AndroidWorld companion with switchable faults: the same frames, leases,
// health levels and restarts, over a phone that is a panel of buttons. It records the truth about every episode, so
// that tests can recognize a contaminated one. Only tests import it.
//
// It links no browser driver. It links no Temporal.
package fakephone

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/collabui/collabui/envadapters/openenv"
)

// Task is a task of the fake: its goal names buttons to tap, in order, before the status complete.
type Task struct {
	Name  string
	Group string
	Steps int
	Taps  int
}

// Faults specify how often and how the phone misbehaves. The shares of calls are from 0 to 1.
type Faults struct {
	Offline float64            // The share of calls at which the process ends for a while, and its episode with it.
	Dirty   float64            // The share of resets after which no state can be restored, until a restart.
	A11y    float64            // The share of steps without an accessibility tree.
	ADB     float64            // The share of steps after which nothing works, until a restart.
	Lies    float64            // The share of answers that carry the number of another lease.
	Init    map[string]float64 // By task: the share of resets at which it cannot be set up.
	Never   map[string]bool    // Tasks that can never be set up.

	// Hang is the share of steps that run for Hung, even if no caller waits for them any more. Such a step is executed
	// afterwards, as the late response under an expired lease.
	Hang float64
	Hung time.Duration

	Gone    time.Duration        // How long an ended process stays away.
	Boot    time.Duration        // How long a restart takes.
	Latency func() time.Duration // How long a step takes; nil for no time.
}

// Truth is the true course of an episode.
type Truth struct {
	Task       string
	Seed       uint64
	Generation int
	Success    bool
	Foreign    int // Actions of another lease that reached the phone during the episode.
	Over       bool
}

// Counts are the counters of a phone.
type Counts struct {
	Asked    int // checks of its health
	Restarts int
	Stale    int // refused frames of expired leases
}

// Phone is one companion with its emulator.
type Phone struct {
	tasks  []Task
	faults Faults
	addr   string

	mu         sync.Mutex
	rng        *rand.Rand
	srv        *http.Server
	conns      map[*websocket.Conn]bool
	counts     Counts
	generation int
	leased     bool
	busySince  time.Time // When the running call began.
	owner      int       // The generation whose call runs.
	booting    bool
	dead       openenv.Code // Why every call fails until a restart.
	broken     bool         // No restart helps.

	truths  []*Truth
	episode *Truth // The current episode.
	buttons []string
	want    []string
	at      int // The number of taps done.
	steps   int
	budget  int
}

// New starts a fake on a free loopback port.
func New(tasks []Task, faults Faults, seed uint64) (*Phone, error) {
	phone := &Phone{
		tasks:  tasks,
		faults: faults,
		rng:    rand.New(rand.NewPCG(seed, 9)),
		conns:  map[*websocket.Conn]bool{},
	}

	return phone, phone.listen("127.0.0.1:0")
}

// URL returns the ws:// address of the fake.
func (p *Phone) URL() string { return "ws://" + p.addr + "/ws" }

func (p *Phone) listen(addr string) error {
	var listener net.Listener
	var err error
	for range 50 { // The port of the process that just ended may be taken for a moment.
		if listener, err = net.Listen("tcp", addr); err == nil {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if err != nil {
		return err
	}

	p.addr = listener.Addr().String()
	mux := http.NewServeMux()
	mux.HandleFunc("/health", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"status":"healthy"}`))
	})
	mux.HandleFunc("/ready", p.ready)
	mux.HandleFunc("/probe", p.probe)
	mux.HandleFunc("/restart", p.restart)
	mux.HandleFunc("/ws", p.session)
	p.srv = &http.Server{Handler: mux}
	go func(server *http.Server) { _ = server.Serve(listener) }(p.srv)

	return nil
}

// Close ends the fake.
func (p *Phone) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()

	p.drop()
	_ = p.srv.Close()
}

// drop ends all connections. Callers hold mu.
func (p *Phone) drop() {
	for conn := range p.conns {
		go func() { _ = conn.CloseNow() }()
	}
	p.conns = map[*websocket.Conn]bool{}
}

// Screen returns the buttons of an episode from the top, and the buttons that the goal names, in order.
func Screen(task Task, seed uint64) (buttons, want []string) {
	r := rand.New(rand.NewPCG(seed, uint64(len(task.Name))))
	for i := range 6 {
		buttons = append(buttons, fmt.Sprintf("b%d-%d", i, r.IntN(1000)))
	}
	for _, k := range r.Perm(6)[:task.Taps] {
		want = append(want, buttons[k])
	}

	return buttons, want
}

// Truths returns the true course of every episode.
func (p *Phone) Truths() []Truth {
	p.mu.Lock()
	defer p.mu.Unlock()

	var out []Truth
	for _, truth := range p.truths {
		out = append(out, *truth)
	}

	return out
}

// Counts returns the phone's counters.
func (p *Phone) Counts() Counts {
	p.mu.Lock()
	defer p.mu.Unlock()

	return p.counts
}

// Break breaks the emulator for good: no restart helps.
func (p *Phone) Break() {
	p.mu.Lock()
	defer p.mu.Unlock()

	p.dead = openenv.CodeADB
	p.broken = true
}

func (p *Phone) ready(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()

	p.counts.Asked++
	level := "ready"
	busy := 0.0
	switch {
	case p.booting:
		level = "busy"
	case !p.busySince.IsZero():
		level = "busy"
		busy = time.Since(p.busySince).Seconds()
	case p.dead != "":
		level = "degraded" // The companion does not know before it tries.
	}

	_ = json.NewEncoder(w).Encode(map[string]any{
		"level":      level,
		"detail":     p.dead,
		"generation": p.generation,
		"leased":     p.leased,
		"busy_s":     busy,
		"episodes":   len(p.truths),
		"restarts":   p.counts.Restarts,
		"failures":   map[string]int{},
		"rss_mb":     100,
		"boot_s":     0.1,
	})
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

func (p *Phone) restart(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()

	seen, err := strconv.Atoi(r.URL.Query().Get("seen"))
	if err == nil && p.generation > seen && p.leased && p.dead == "" {
		w.WriteHeader(http.StatusConflict)
		return
	}

	w.WriteHeader(http.StatusAccepted)
	p.reboot()
}

// reboot kills and boots the emulator. Every lease is void. Callers hold mu.
func (p *Phone) reboot() {
	if p.booting {
		return
	}

	p.counts.Restarts++
	p.expire()
	p.booting = true
	time.AfterFunc(p.faults.Boot, func() {
		p.mu.Lock()
		defer p.mu.Unlock()

		p.booting = false
		if !p.broken {
			p.dead = ""
		}
	})
}

// vanish ends the process for a while. Callers hold mu.
func (p *Phone) vanish() {
	p.drop()
	p.expire()

	srv := p.srv
	go func() {
		_ = srv.Close()
		time.Sleep(p.faults.Gone)

		p.mu.Lock()
		defer p.mu.Unlock()
		p.dead = ""
		_ = p.listen(p.addr)
	}()
}

// expire ends the lease without tearing its episode down. Callers hold mu.
func (p *Phone) expire() {
	p.generation++
	p.leased = false
	p.episode = nil
	p.busySince = time.Time{}
}

func (p *Phone) chance(share float64) bool { return share > 0 && p.rng.Float64() < share }
