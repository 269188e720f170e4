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
		if status, text, _ := s.post("/sleep", `{"lease_s":30}`); status != http.StatusOK || !e.Asleep() {
			t.Fatal(status, text)
		}
		status, text, h := s.post("/v1/chat/completions", `{"model":"`+d+`",`+hello+`}`)
		if status != http.StatusServiceUnavailable || h.Get("Retry-After") != "5" {
			t.Fatal(status, text, h)
		}
		if status, text, _ := s.post("/v1/load_lora_adapter", `{"lora_name":"`+d+`"}`); status != http.StatusServiceUnavailable {
			t.Fatal(status, text)
		}
		if status, text, _ := s.ask(http.MethodGet, "/health", "", ""); status != http.StatusServiceUnavailable || !strings.Contains(text, "sleeps") {
			t.Fatal(status, text)
		}
		for range 2 { // awake already is success
			if status, text, _ := s.post("/wake_up", ""); status != http.StatusOK || e.Asleep() {
				t.Fatal(status, text)
			}
			s.says(d, "x")
		}
		if n := e.Calls(s.gate.dialect.wake); n != 1 {
			t.Fatalf("woken %d times", n)
		}
		if n := e.Calls(s.gate.dialect.load); n != 1 {
			t.Fatalf("%d loads", n)
		}

		for range 5 { // renewed four times
			if status, text, _ := s.post("/sleep", `{"lease_s":0.3}`); status != http.StatusOK || !e.Asleep() {
				t.Fatal(status, text)
			}
			time.Sleep(100 * time.Millisecond)
		}
		s.stillSleeps(d)
		e.Restart() // while it sleeps
		s.until("the lease runs out", func() bool { status, _ := s.chat(d); return status == http.StatusOK })
		s.says(d, "x")
		if !strings.Contains(s.said(), "ran out") {
			t.Fatal(s.said())
		}
		for _, bad := range []string{"", "{}", `{"lease_s":-1}`, `{"lease_s":1e9}`} {
			if status, text, _ := s.post("/sleep", bad); status != http.StatusBadRequest {
				t.Fatal(bad, status, text)
			}
		}
	})
}

// stillSleeps expects that the engine still sleeps.
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
	s.gate.patience = 50 * time.Millisecond
	status, text, h := s.post("/sleep", `{"lease_s":30}`)
	if status != http.StatusServiceUnavailable || h.Get("Retry-After") == "" || !strings.Contains(text, "1 requests are still under way") || e.Asleep() {
		t.Fatal(status, text)
	}
	if status, text, _ := s.ask(http.MethodGet, "/health", "", ""); status != http.StatusOK {
		t.Fatal("it is not admitted again:", status, text)
	}
	s.gate.patience = 5 * time.Second
	slept := make(chan int, 1)
	go func() { status, _, _ := s.post("/sleep", `{"lease_s":30}`); slept <- status }()
	s.until("admission is closed", func() bool { s.gate.mu.Lock(); defer s.gate.mu.Unlock(); return s.gate.closed })
	s.refuses(d, http.StatusServiceUnavailable, "about to")
	if e.Asleep() {
		t.Fatal("it fell asleep over a request")
	}
	open()
	if text := <-answer; text != "x" {
		t.Fatal(text)
	}
	if status := <-slept; status != http.StatusOK || !e.Asleep() {
		t.Fatal(status)
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
		if status, text, _ := s.post("/sleep", `{"lease_s":30}`); status != http.StatusConflict || !strings.Contains(text, hint) {
			t.Fatal(status, text)
		}
		s.says(d, "x")
		e.Down(true)
		if status, text, _ := s.post("/sleep", `{"lease_s":30}`); status != http.StatusServiceUnavailable {
			t.Fatal(status, text)
		}
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
	if status, text, _ := s.post("/sleep", `{"lease_s":30}`); status != http.StatusOK {
		t.Fatal(status, text)
	}
	e.Down(true)
	if status, text, _ := s.post("/wake_up", ""); status != http.StatusServiceUnavailable {
		t.Fatal(status, text)
	}
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
	if status, text, _ := s.post("/sleep", `{"lease_s":30}`); status != http.StatusOK {
		t.Fatal(status, text)
	}
	s.restart()
	s.run()
	s.until("the new process knows", func() bool { s.gate.mu.Lock(); defer s.gate.mu.Unlock(); return s.gate.asleep })
	s.refuses(d, http.StatusServiceUnavailable, "sleeps")
	if status, text, _ := s.post("/sleep", `{"lease_s":0.01}`); status != http.StatusOK || e.Calls("/sleep") != 1 {
		t.Fatal(status, text)
	}
	s.until("the lease runs out", func() bool { status, _ := s.chat(d); return status == http.StatusOK })
}
