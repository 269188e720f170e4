package gateway

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/test/kit/fakeengine"
)

// run starts the mending loop for the rest of the test.
func (s *stage) run() {
	ctx, cancel := context.WithCancel(s.t.Context())
	done := make(chan struct{})
	go func(g *Gateway) { g.Run(ctx); close(done) }(s.gate)
	s.t.Cleanup(func() { cancel(); <-done })
}

func (s *stage) metric(line string) bool {
	_, text, _ := s.ask(http.MethodGet, "/metrics", "", "")
	return strings.Contains(text, line+"\n")
}

func TestTheLeastRecentlyUsedAdapterGoesAndItsFolderToo(t *testing.T) {
	both(t, func(t *testing.T, e *fakeengine.Engine) {
		e.Limit = 2
		s := setUp(t, e, func(o *Options) { o.Keep = 2 })
		a, b, c := s.lora("a"), s.lora("b"), s.lora("c")
		s.says(a, "a")
		s.says(b, "b")
		s.says(a, "a")
		s.says(c, "c")
		if got := strings.Join(e.Loaded(), " "); len(e.Loaded()) != 2 || strings.Contains(got, b[:16]) {
			t.Fatalf("%s are loaded, want two without b, which is %s", got, b[:16])
		}

		if _, err := os.Stat(s.gate.dir(b)); !os.IsNotExist(err) {
			t.Fatalf("Stat of b's folder = %v, want that it does not exist", err)
		}

		s.says(b, "b")
		s.wants(http.MethodPost, "/v1/unload_lora_adapter", `{"lora_name":"`+c+`"}`, http.StatusOK)
		s.wants(http.MethodPost, "/v1/unload_lora_adapter", `{"lora_name":"`+c+`"}`, http.StatusNotFound)
		if len(e.Loaded()) != 1 {
			t.Fatalf("%v are loaded, want one", e.Loaded())
		}
	})
}

func TestABusyAdapterStaysUntilItHasDrained(t *testing.T) {
	e := &fakeengine.Engine{}
	gate := make(chan struct{})
	began := make(chan struct{}, 9)
	e.Answer = func(dir string, body []byte) (int, []byte) {
		if strings.Contains(string(body), "a <b>") { // not a probe
			began <- struct{}{}
			<-gate
		}

		return fakeengine.Echo(dir, body)
	}

	s := setUp(t, e, func(o *Options) { o.Keep = 1 })
	open := sync.OnceFunc(func() { close(gate) })
	t.Cleanup(open)
	a, b := s.lora("a"), s.lora("b")
	first := make(chan string, 1)
	go func() { _, text := s.chat(a); first <- text }()
	<-began
	s.gate.patience = 50 * time.Millisecond
	status, text, h := s.post("/v1/load_lora_adapter", `{"lora_name":"`+b+`"}`)
	if status != http.StatusServiceUnavailable || h.Get("Retry-After") != "5" || !strings.Contains(text, a) {
		t.Fatalf("%d %s, Retry-After %q, want 503 with %s and 5", status, text, h.Get("Retry-After"), a)
	}

	s.gate.patience = 5 * time.Second
	second := make(chan string, 1)
	go func() { _, text := s.chat(b); second <- text }()
	s.until("b waits for a", func() bool {
		s.gate.mu.Lock()
		defer s.gate.mu.Unlock()

		return s.gate.policies[a].busy != nil
	})

	if got := e.Loaded(); len(got) != 1 || got[0] != prefix(a) {
		t.Fatalf("%v is loaded while a is in use, want a alone", got)
	}

	open()
	if one, two := <-first, <-second; one != "a" || two != "b" {
		t.Fatalf("the answers are %q and %q, want a and b", one, two)
	}
}

func TestOneLoadForAllWhoWait(t *testing.T) {
	e := &fakeengine.Engine{}
	s := setUp(t, e, nil)
	d := s.lora("x")
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if status, text := s.chat(d); status != http.StatusOK || text != "x" {
				t.Errorf("chat = %d %q, want 200 x", status, text)
			}
		})
	}

	all.Wait()
	if n := e.Calls("/v1/load_lora_adapter"); n != 1 {
		t.Fatalf("%d loads, want 1", n)
	}
}

func TestWhatTheEngineLostIsLoadedAgain(t *testing.T) {
	both(t, func(t *testing.T, e *fakeengine.Engine) {
		s := setUp(t, e, nil)
		a, b := s.lora("a"), s.lora("b")
		s.says(a, "a")
		s.says(b, "b")
		e.Restart()
		s.bucket.Damage(store.BlobPrefix+a, nil) // the files on disk suffice
		s.says(a, "a")                           // the request finds the loss
		if !s.metric("collabui_serving_mends_total 1") {
			t.Fatalf("the metrics have not counted it, want one mend; log:\n%s", s.said())
		}

		s.run()
		s.until("b is mended by the loop", func() bool {
			return len(e.Loaded()) == 2 && s.metric("collabui_serving_mends_total 2")
		})

		e.Down(true)
		s.until("the loop says that the engine is down", func() bool {
			return strings.Contains(s.said(), "does not answer")
		})

		e.Restart()
		e.Down(false)
		s.until("both are mended", func() bool {
			return len(e.Loaded()) == 2 && s.metric("collabui_serving_mends_total 4")
		})

		said := s.said()
		for text, want := range map[string]int{"mended": 4, "does not answer": 1, "answers again": 1} {
			if got := strings.Count(said, text); got != want {
				t.Fatalf("the log says %q %d times, want %d:\n%s", text, got, want, said)
			}
		}

		s.says(b, "b")
	})
}

func TestAnEngineThatAnswersNothingHasLostNothing(t *testing.T) {
	e := &fakeengine.Engine{SGLang: true, Unlisted: true}
	s := setUp(t, e, nil)
	a := s.lora("a")
	s.says(a, "a")
	loads := e.Calls(s.gate.dialect.load)
	for _, status := range []int{http.StatusInternalServerError, http.StatusBadGateway, http.StatusTooManyRequests} {
		e.FailChat(status, "not now") // the probe
		s.gate.mend(t.Context())
	}
	if got := e.Calls(s.gate.dialect.load); got != loads || !s.metric("collabui_serving_adapters 1") {
		t.Fatalf("%d loads instead of %d, want no more and the policy still ready; log:\n%s", got, loads, s.said())
	}
}

func TestAllWhoLostAPolicyLoadItOnce(t *testing.T) {
	e := &fakeengine.Engine{}
	s := setUp(t, e, nil)
	d := s.lora("x")
	one, err := s.gate.acquire(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}

	two, err := s.gate.acquire(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}

	e.Restart()
	if c := s.gate.loadAgain(t.Context(), one); c == nil || wait(t.Context(), c) != nil {
		t.Fatal("the first who lost it did not load it again, want a load")
	}

	if s.gate.loadAgain(t.Context(), two) != nil { // held since before the second load
		t.Fatal("it is loaded a third time, want the second load to serve both")
	}

	s.gate.release(one)
	s.gate.release(two)
	s.says(d, "x")
}

func TestALostPolicyIsAskedForOnceMoreOnly(t *testing.T) {
	e := &fakeengine.Engine{}
	s := setUp(t, e, nil)
	base := s.put(domain.Artifact{Kind: domain.ArtifactBase, Base: model})
	s.says(base, "base")
	e.FailChat(http.StatusNotFound, "no such model") // the request, not the probe
	s.says(base, "base")
	e.FailChat(http.StatusNotFound, "no such model")
	e.FailChat(http.StatusNotFound, "no such model") // and the probe
	s.refuses(base, http.StatusServiceUnavailable, "probe", "no such model")
	s.says(base, "base")
}

// TestEveryAnswerIsOfThePolicyThatWasNamed has many clients request more policies than fit, while the engine restarts
// and becomes silent. Every answer must come from the policy that was named.
func TestEveryAnswerIsOfThePolicyThatWasNamed(t *testing.T) {
	both(t, func(t *testing.T, e *fakeengine.Engine) {
		e.Limit = 3
		s := setUp(t, e, func(o *Options) { o.Keep = 3 })
		var digests []string
		for i := range 7 {
			digests = append(digests, s.lora(fmt.Sprintf("adapter %d", i)))
		}

		digests = append(digests, s.put(domain.Artifact{Kind: domain.ArtifactBase, Base: model}))
		s.run()
		e.Slow(2 * time.Millisecond)
		var served, refused, asked atomic.Int64
		var all sync.WaitGroup
		for w := range 8 {
			all.Go(func() {
				for i := range 25 {
					if n := asked.Add(1); n == 60 || n == 130 {
						e.Restart()
					}
					k := (w*5 + i*3) % len(digests)
					want := fmt.Sprintf("adapter %d", k)
					if k == 7 {
						want = "base"
					}
					for tries := 0; ; tries++ {
						status, text := s.chat(digests[k])
						if status == http.StatusOK && text == want {
							served.Add(1)
							break
						}
						if status == http.StatusOK || tries > 50 {
							t.Errorf("policy %d: %d %q, want %q", k, status, text, want)
							return
						}
						refused.Add(1)
						time.Sleep(5 * time.Millisecond)
					}
				}
			})
		}

		all.Wait()
		if served.Load() != 200 || refused.Load() > 20 {
			t.Errorf("%d served, %d refused on the way, want 200 and at most 20\n%s",
				served.Load(), refused.Load(), s.said())
		}

		s.until("nothing is left over", func() bool {
			return s.metric("collabui_serving_outstanding 0") && len(e.Loaded()) <= 3
		})
	})
}
