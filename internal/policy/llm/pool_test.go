package llm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/chat"
)

// fake is a policy server whose answers can be changed. It counts calls for chat and load, but not for health.
type fake struct {
	*httptest.Server
	calls atomic.Int32
	say   atomic.Pointer[http.HandlerFunc]
}

func (f *fake) set(h http.HandlerFunc) { f.say.Store(&h) }

func says(status int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}

		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// hang waits until the client disconnects.
func hang(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

// clock stands still until a test moves it.
type clock struct{ ns atomic.Int64 }

func (c *clock) now() time.Time          { return time.Unix(0, c.ns.Load()) }
func (c *clock) advance(d time.Duration) { c.ns.Add(int64(d)) }

// fakes returns n servers that answer, and a pool of them whose clock stands still.
func fakes(t *testing.T, n int, timeout time.Duration) ([]*fake, *Pool, *clock) {
	t.Helper()
	var out []*fake
	var urls []string
	for range n {
		f := &fake{}
		f.set(says(200, answer))
		f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/health" {
				f.calls.Add(1)
			}
			(*f.say.Load())(w, r)
		}))
		t.Cleanup(f.Close)
		out, urls = append(out, f), append(urls, f.URL+"/v1")
	}

	p, err := PolicyServers(urls, Config{Key: func() string { return "k-1" }, Timeout: timeout})
	if err != nil {
		t.Fatal(err)
	}

	c := &clock{}
	c.advance(time.Hour)
	p.now = c.now

	return out, p, c
}

// preferred returns the servers in the order in which an idle pool calls them.
func preferred(p *Pool, fs []*fake, r chat.Request) []*fake {
	var out []*fake
	for _, m := range p.order(r.Model, r.User) {
		out = append(out, fs[slices.IndexFunc(fs, func(f *fake) bool { return m.url == f.URL+"/v1" })])
	}

	return out
}

var ask = chat.Request{Model: "m", User: "u", N: 1}

func TestPromptsThatBeginAlikeMeetTheSameServer(t *testing.T) {
	fs, p, _ := fakes(t, 3, 0)
	used := map[int]bool{}
	for i := range 60 {
		r := chat.Request{Model: fmt.Sprint("m", i%2), User: fmt.Sprintf("%03d%s", i, strings.Repeat("ä", 597))}
		before := make([]int32, 3)
		for k, f := range fs {
			before[k] = f.calls.Load()
		}

		for round, more := range []string{"", " Messages: a", " Messages: b"} {
			q := r
			q.User, q.Seed, q.N = r.User+more, uint64(round), 1
			if _, err := p.Complete(t.Context(), q); err != nil {
				t.Fatal(err)
			}
		}

		for k, f := range fs {
			if n := f.calls.Load() - before[k]; n == 3 {
				used[k] = true
			} else if n != 0 {
				t.Fatalf("prompt %d: %d of 3 calls at server %d, want all or none", i, n, k)
			}
		}
	}

	if len(used) != 3 {
		t.Errorf("servers %v were used, want all three", used)
	}
}

func TestABusyServerIsLeftForOthers(t *testing.T) {
	fs, p, _ := fakes(t, 3, 0)
	arrived, release := make(chan int), make(chan struct{})
	for k, f := range fs {
		f.set(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/health" {
				arrived <- k
				<-release
			}
			says(200, answer)(w, r)
		})
	}

	var calls sync.WaitGroup
	var order []int
	for range 30 {
		calls.Go(func() {
			if _, err := p.Complete(t.Context(), ask); err != nil {
				t.Error(err)
			}
		})

		order = append(order, <-arrived)
	}

	counts := map[int]int{}
	for k, s := range p.Health(t.Context()) {
		if counts[k] = s.Outstanding; !s.OK || s.Outstanding != int(fs[k].calls.Load()) {
			t.Errorf("%+v, want it OK with %d outstanding", s, fs[k].calls.Load())
		}
	}

	close(release)
	calls.Wait()
	favourite := slices.Index(fs, preferred(p, fs, ask)[0])
	least, most := min(counts[0], counts[1], counts[2]), max(counts[0], counts[1], counts[2])
	if counts[0]+counts[1]+counts[2] != 30 || most > least+slack+1 {
		t.Errorf("outstanding requests %v, want 30 in nearly equal parts", counts)
	}

	if !slices.Equal(order[:3], []int{favourite, favourite, favourite}) || order[3] == favourite {
		t.Errorf("asked were %v, want server %d three times, then another", order[:4], favourite)
	}

	for _, s := range p.Health(t.Context()) {
		if s.Outstanding != 0 {
			t.Errorf("%+v, want nothing outstanding", s)
		}
	}
}

func TestServersThatDoNotAnswerArePassedOverAndAvoided(t *testing.T) {
	for name, bad := range map[string]http.HandlerFunc{
		"down":      nil,
		"lacking":   says(404, `{"error":{"message":"no such model"}}`),
		"starting":  says(503, "loading"),
		"broken":    says(500, "oops"),
		"hanging":   hang,
		"busy":      says(503, "", "Retry-After", "2"),
		"throttled": says(429, "slow down", "Retry-After", "1000"),
		"senseless": says(200, `{"choices":[]}`),
	} {
		t.Run(name, func(t *testing.T) {
			fs, p, c := fakes(t, 2, time.Second)
			at := preferred(p, fs, ask)
			if bad == nil {
				at[0].Close()
			} else {
				at[0].set(bad)
			}
			for range 3 {
				if r, err := p.Complete(t.Context(), ask); err != nil || r.Texts[0] != "hi" {
					t.Fatalf("Complete = %v, %v, want hi", r, err)
				}
			}
			if n := at[0].calls.Load(); at[1].calls.Load() != 3 || n != 1 && bad != nil {
				t.Errorf("%d calls at the bad server, %d at the other, want at most 1 and 3", n, at[1].calls.Load())
			}
			p.mu.Lock()
			avoid := p.order(ask.Model, ask.User)[0].avoid
			_, lacks := avoid["m"]
			_, down := avoid[""]
			p.mu.Unlock()
			if lacks != (name == "lacking") || down == lacks {
				t.Errorf("avoided: %v, want the model only if the server lacks it, else the server", avoid)
			}
			c.advance(maxAvoid)
			if at[0].set(says(200, answer)); bad != nil {
				_, err := p.Complete(t.Context(), ask)
				if n := at[0].calls.Load(); err != nil || n != 2 || len(avoid) != 0 {
					t.Errorf("a healthy server again: %d calls, avoided %v (%v), want 2 and nothing", n, avoid, err)
				}
			}
		})
	}
}

func TestWhatNoServerAnswers(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for _, x := range []struct {
		a, b  http.HandlerFunc
		kind  fault.Kind
		after time.Duration
		calls int32
	}{
		{says(429, "", "Retry-After", "7"), says(503, "", "Retry-After", "3"), fault.Throttled, 3 * time.Second, 2},
		{says(429, "", "Retry-After", "3"), says(429, long, "Retry-After", "7"), fault.Throttled, 3 * time.Second, 2},
		{says(429, ""), says(429, "", "Retry-After", "7"), fault.Throttled, 7 * time.Second, 2},
		{says(429, "", "Retry-After", "7"), says(500, long), fault.Throttled, 7 * time.Second, 2},
		{
			says(404, "\x1b[31mno such\nmodel "+long),
			says(500, `{"error":{"message":"`+long+`"}}`),
			fault.Transient,
			0,
			2,
		},
		{says(400, `{"error":{"message":"too long"}}`), says(200, answer), fault.Refused, 0, 1},
		{says(401, `{"error":{"message":"no key"}}`), says(200, answer), fault.Invalid, 0, 1},
	} {
		fs, p, _ := fakes(t, 2, 0)
		at := preferred(p, fs, ask)
		at[0].set(x.a)
		at[1].set(x.b)
		_, err := p.Complete(t.Context(), ask)
		if err == nil || fault.KindOf(err) != x.kind || fault.RetryAfter(err) != x.after {
			t.Fatalf("Complete = %v, kind %s, after %v, want kind %s, after %v",
				err, fault.KindOf(err), fault.RetryAfter(err), x.kind, x.after)
		}

		if len(err.Error()) > 1200 || strings.ContainsAny(err.Error(), "\x1b\n") {
			t.Errorf("Complete = %q, want one line of at most 1200 bytes", err)
		}

		if n := fs[0].calls.Load() + fs[1].calls.Load(); n != x.calls {
			t.Errorf("%v: %d calls, want %d", err, n, x.calls)
		}
	}
}

func TestTheContextEndsACall(t *testing.T) {
	fs, p, _ := fakes(t, 2, 0)
	for what, call := range map[string]func(context.Context) error{
		"complete": func(ctx context.Context) error { _, err := p.Complete(ctx, ask); return err },
		"load":     func(ctx context.Context) error { return p.Load(ctx, "m", 1) },
	} {
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		before := fs[0].calls.Load() + fs[1].calls.Load()
		for _, f := range fs {
			f.set(func(w http.ResponseWriter, r *http.Request) { cancel(why); hang(w, r) })
		}

		if err := call(ctx); err != why {
			t.Errorf("%s = %v, want %v", what, err, why)
		}

		if n := fs[0].calls.Load() + fs[1].calls.Load() - before; what == "complete" && n != 1 {
			t.Errorf("%d calls, want 1", n)
		}
	}

	if n := len(p.servers[0].avoid) + len(p.servers[1].avoid); n != 0 {
		t.Errorf("%d servers are avoided for calls that this side ended, want 0", n)
	}
}
