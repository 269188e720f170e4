package gateway

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/collabui/collabui/test/kit/fakeengine"
)

func TestTheEngineSleepsForALease(t *testing.T) {
	both(t, func(t *testing.T, e *fakeengine.Engine) {
		s := setUp(t, e, nil)
		d := s.lora("x")
		s.says(d, "x")
		s.run()
		s.wants(http.MethodPost, "/sleep", `{"lease_s":30}`, http.StatusOK)
		if got := e.Asleep(); got != true {
			t.Fatalf("Asleep() = %v, want true", got)
		}

		status, text, h := s.post("/v1/chat/completions", `{"model":"`+d+`",`+hello+`}`)
		if status != http.StatusServiceUnavailable || h.Get("Retry-After") != "5" {
			t.Fatalf("a chat: %d %s, Retry-After %q, want 503 and 5", status, text, h.Get("Retry-After"))
		}

		s.wants(http.MethodPost, "/v1/load_lora_adapter", `{"lora_name":"`+d+`"}`, http.StatusServiceUnavailable)
		s.wants(http.MethodGet, "/health", "", http.StatusServiceUnavailable, "sleeps")
		for range 2 { // waking it again succeeds
			s.wants(http.MethodPost, "/wake_up", "", http.StatusOK)
			if got := e.Asleep(); got != false {
				t.Fatalf("Asleep() = %v, want false", got)
			}
			s.says(d, "x")
		}

		if n := e.Calls(s.gate.dialect.wake); n != 1 {
			t.Fatalf("woken %d times, want once", n)
		}

		if n := e.Calls(s.gate.dialect.load); n != 1 {
			t.Fatalf("%d loads, want 1", n)
		}

		for range 5 { // renewed four times
			s.wants(http.MethodPost, "/sleep", `{"lease_s":0.3}`, http.StatusOK)
			if got := e.Asleep(); got != true {
				t.Fatalf("Asleep() = %v, want true", got)
			}
			time.Sleep(100 * time.Millisecond)
		}

		s.stillSleeps(d)
		e.Restart() // while it sleeps
		s.until("the lease runs out", func() bool { status, _ := s.chat(d); return status == http.StatusOK })
		s.says(d, "x")
		if !strings.Contains(s.said(), "ran out") {
			t.Fatalf("the log is\n%s\nwant that the lease ran out", s.said())
		}

		for _, bad := range []string{"", "{}", `{"lease_s":-1}`, `{"lease_s":1e9}`} {
			s.wants(http.MethodPost, "/sleep", bad, http.StatusBadRequest)
		}
	})
}

// stillSleeps expects that the engine is still asleep.
func (s *stage) stillSleeps(d string) {
	s.t.Helper()
	s.refuses(d, http.StatusServiceUnavailable, "sleeps")
}

func TestSleepWaitsForRequests(t *testing.T) {
	e := &fakeengine.Engine{}
	gate, began := make(chan struct{}), make(chan struct{})
	e.Answer = func(dir string, body []byte) (int, []byte) {
		if strings.Contains(string(body), "a <b>") {
			began <- struct{}{}
			<-gate
		}

		return fakeengine.Echo(dir, body)
	}

	s := setUp(t, e, nil)
	open := sync.OnceFunc(func() { close(gate) })
	t.Cleanup(open)
	d := s.lora("x")
	answer := make(chan string, 1)
	go func() { _, text := s.chat(d); answer <- text }()
	<-began
	s.gate.draining = 50 * time.Millisecond
	status, text, h := s.post("/sleep", `{"lease_s":30}`)
	busy := h.Get("Retry-After") != "" && strings.Contains(text, "1 requests are still in flight")
	if status != http.StatusServiceUnavailable || !busy || e.Asleep() {
		t.Fatalf("sleep: %d %s, asleep %v, want 503 for the request in flight", status, text, e.Asleep())
	}

	s.wants(http.MethodGet, "/health", "", http.StatusOK)
	s.gate.draining = 5 * time.Second
	slept := make(chan int, 1)
	go func() { status, _, _ := s.post("/sleep", `{"lease_s":30}`); slept <- status }()
	s.until("admission is closed", func() bool {
		s.gate.mu.Lock()
		defer s.gate.mu.Unlock()

		return s.gate.closed
	})

	s.refuses(d, http.StatusServiceUnavailable, "about to")
	if e.Asleep() {
		t.Fatal("the engine sleeps, want it awake while a request is in flight")
	}

	open()
	if text := <-answer; text != "x" {
		t.Fatalf("the answer is %q, want x", text)
	}

	if status := <-slept; status != http.StatusOK || !e.Asleep() {
		t.Fatalf("sleep: %d, asleep %v, want 200 and true", status, e.Asleep())
	}
}

func TestAnEngineThatCannotSleep(t *testing.T) {
	both(t, func(t *testing.T, e *fakeengine.Engine) {
		e.NoSleep = true
		s := setUp(t, e, nil)
		d := s.lora("x")
		s.says(d, "x")
		hint := "VLLM_SERVER_DEV_MODE=1"
		if e.SGLang {
			hint = "--enable-memory-saver"
		}

		s.wants(http.MethodPost, "/sleep", `{"lease_s":30}`, http.StatusConflict, hint)
		s.says(d, "x")
		e.Down(true)
		s.wants(http.MethodPost, "/sleep", `{"lease_s":30}`, http.StatusServiceUnavailable)
		e.Down(false)
		s.run()
		s.until("it is admitted again", func() bool { status, _ := s.chat(d); return status == http.StatusOK })
	})
}

func TestAWakingThatFailsIsTriedAgain(t *testing.T) {
	e := &fakeengine.Engine{}
	s := setUp(t, e, nil)
	d := s.lora("x")
	s.says(d, "x")
	s.wants(http.MethodPost, "/sleep", `{"lease_s":30}`, http.StatusOK)
	e.Down(true)
	s.wants(http.MethodPost, "/wake_up", "", http.StatusServiceUnavailable)
	s.refuses(d, http.StatusServiceUnavailable, "sleeps")
	e.Down(false)
	s.run()
	s.until("it is awake", func() bool { status, _ := s.chat(d); return status == http.StatusOK })
}

func TestAnEngineThatWasFoundAsleep(t *testing.T) {
	e := &fakeengine.Engine{}
	s := setUp(t, e, nil)
	d := s.lora("x")
	s.says(d, "x")
	s.wants(http.MethodPost, "/sleep", `{"lease_s":30}`, http.StatusOK)
	s.restart()
	s.run()
	s.until("the new process knows", s.gate.sleeping)
	s.refuses(d, http.StatusServiceUnavailable, "sleeps")
	s.wants(http.MethodPost, "/sleep", `{"lease_s":0.01}`, http.StatusOK)
	if n := e.Calls("/sleep"); n != 1 {
		t.Fatalf("the engine was put to sleep %d times, want once", n)
	}

	s.until("the lease runs out", func() bool { status, _ := s.chat(d); return status == http.StatusOK })
}

// TestAnEngineThatCannotSleepIsAskedOnce covers a vLLM without its development mode, whose log would otherwise fill up
// with requests that it does not know. A new process may have the mode.
func TestAnEngineThatCannotSleepIsAskedOnce(t *testing.T) {
	e := &fakeengine.Engine{NoSleep: true}
	s := setUp(t, e, nil)
	s.run()
	looks := func(n int) func() bool { return func() bool { return e.Calls("/v1/models") >= n } }
	s.until("five looks", looks(5))
	if n := e.Calls("/is_sleeping"); n != 1 {
		t.Errorf("the engine was asked %d times whether it sleeps, want once", n)
	}

	e.Down(true)
	s.until("silence", func() bool { return strings.Contains(s.said(), "does not answer") })
	e.Down(false)
	s.until("an answer", func() bool { return strings.Contains(s.said(), "answers again") })
	again := e.Calls("/is_sleeping")
	s.until("five more looks", looks(e.Calls("/v1/models")+5))
	if n := e.Calls("/is_sleeping"); n != again || again == 1 {
		t.Errorf("a restarted engine was asked %d times whether it sleeps, then %d times, want once more, and no more",
			again-1, n-again)
	}
}

// TestAnEngineThatWouldForgetItsWeightsStaysAwake covers an SGLang without a backup of its weights, which would wake
// with undefined weights.
func TestAnEngineThatWouldForgetItsWeightsStaysAwake(t *testing.T) {
	e := &fakeengine.Engine{SGLang: true, NoBackup: true}
	s := setUp(t, e, nil)
	d := s.lora("x")
	s.says(d, "x")
	s.wants(http.MethodPost, "/sleep", `{"lease_s":30}`, http.StatusConflict, "--enable-weights-cpu-backup")
	if e.Asleep() {
		t.Error("the engine sleeps, want it awake")
	}
	s.says(d, "x")
}
