package llm

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/chat"
)

func TestLoadWantsAQuorum(t *testing.T) {
	long := strings.Repeat("ü", 5000)
	ok, there := says(200, "Success"), says(400, `{"message":"The lora adapter 'm' has already been loaded."}`)
	missing, wrong := says(404, "no adapter found "+long), says(409, "wrong base model\n"+long)
	down := says(503, "starting")
	for _, x := range []struct {
		says   [3]http.HandlerFunc
		quorum int
		kind   fault.Kind // "" means success
		words  []string   // "1" stands for the second server's address
	}{
		{[3]http.HandlerFunc{ok, there, ok}, 0, "", nil},
		{[3]http.HandlerFunc{ok, down, ok}, 2, "", nil},
		{[3]http.HandlerFunc{wrong, down, ok}, 1, "", nil},
		{[3]http.HandlerFunc{ok, down, ok}, 0, fault.Transient, []string{
			"on 2 of 3", "3 are needed", "1: load policy m: the server answered 503 Service Unavailable: starting",
		}},
		{[3]http.HandlerFunc{missing, missing, ok}, 2, fault.Transient, []string{
			"0: ", "1: ", "404 Not Found: no adapter found üü",
		}},
		{[3]http.HandlerFunc{down, wrong, ok}, 2, fault.Invalid, []string{
			"0: ", "1: ", "409 Conflict: wrong base model üü",
		}},
		{[3]http.HandlerFunc{ok, ok, ok}, 4, fault.Invalid, []string{"quorum of 4", "there are 3"}},
		{[3]http.HandlerFunc{ok, ok, ok}, -1, fault.Invalid, []string{"quorum of -1"}},
	} {
		fs, p, _ := fakes(t, 3, 0)
		for k, f := range fs {
			f.set(func(w http.ResponseWriter, r *http.Request) {
				b, _ := io.ReadAll(r.Body)
				if got, want := string(b), `{"lora_name":"m","lora_path":"m"}`; got != want {
					t.Errorf("the body is %s, want %s", got, want)
				}
				if got, want := r.URL.Path, "/v1/load_lora_adapter"; got != want {
					t.Errorf("the path is %s, want %s", got, want)
				}
				if got, want := r.Header.Get("Authorization"), "Bearer k-1"; got != want {
					t.Errorf("the key is %s, want %s", got, want)
				}
				x.says[k](w, r)
			})
		}

		err := p.Load(t.Context(), "m", x.quorum)
		if (err == nil) != (x.kind == "") || err != nil && fault.KindOf(err) != x.kind {
			t.Errorf("Load with a quorum of %d = %v, want kind %q", x.quorum, err, x.kind)
		}

		if err != nil && strings.Contains(err.Error(), strings.Repeat("ü", maxReason)) {
			t.Errorf("Load = %v, want at most %d characters of a server", err, maxReason)
		}

		for _, w := range x.words {
			if i := slices.Index([]string{"0", "1", "2"}, w[:1]); i >= 0 && w[1] == ':' {
				w = fs[i].URL + "/v1" + w[1:]
			}
			if err != nil && !strings.Contains(err.Error(), w) {
				t.Errorf("Load = %v, want %q in it", err, w)
			}
		}
	}
}

func TestLoadWaitsALittleForTheOthers(t *testing.T) {
	fs, p, _ := fakes(t, 3, 0)
	p.lateWait = time.Second
	slow := atomic.Bool{}
	fs[0].set(hang)
	fs[1].set(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(50 * time.Millisecond)
		slow.Store(true)
		says(200, "")(w, r)
	})

	p.servers[1].avoid["m"] = pause{until: p.now().Add(maxAvoid)}
	start := time.Now()
	if err := p.Load(t.Context(), "m", 1); err != nil || !slow.Load() || time.Since(start) > 10*time.Second {
		t.Errorf("Load = %v after %v, the slow server done: %v, want nil within 10 s and true",
			err, time.Since(start), slow.Load())
	}

	if len(p.servers[1].avoid) != 0 {
		t.Errorf("avoided: %v, want nothing once the server has the policy", p.servers[1].avoid)
	}

	p, err := PolicyServers([]string{fs[0].URL + "/v1"}, Config{Timeout: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}

	err = p.Load(t.Context(), "m", 0)
	if fault.KindOf(err) != fault.Transient || !strings.Contains(err.Error(), "no answer within 50ms") {
		t.Errorf("Load from a server that hangs = %v, want a transient fault after 50 ms", err)
	}
}

func TestHealthAndAddresses(t *testing.T) {
	fs, _, _ := fakes(t, 3, 0)
	fs[1].set(says(503, "the engine died\n"+strings.Repeat("x", 1<<20)))
	fs[2].Close()
	secret := func(f *fake) string { return strings.Replace(f.URL, "http://", "http://me:pw@", 1) + "/v1" }
	p, err := PolicyServers([]string{secret(fs[0]), fs[1].URL + "/v1/", secret(fs[2])}, Config{Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}

	got := p.Health(t.Context())
	if !got[0].OK || got[0].Detail != "" {
		t.Errorf("the first server is %+v, want it OK", got[0])
	}

	died := strings.HasPrefix(got[1].Detail, "/health answers 503 the engine died xx")
	if got[1].OK || !died || len(got[1].Detail) > 500 {
		t.Errorf("the second server is %+v, want that it died, in at most 500 bytes", got[1])
	}

	if got[2].OK || !strings.Contains(got[2].Detail, "refused") {
		t.Errorf("the third server is %+v, want a refused connection", got[2])
	}

	fs[0].set(says(401, ""))
	_, refused := p.Complete(t.Context(), chat.Request{Model: "m"})
	for _, e := range []error{refused, p.Load(t.Context(), "m", 0), p.servers[2].client.Load(t.Context(), "m")} {
		if e == nil || strings.Contains(e.Error(), "pw") || strings.Contains(fmt.Sprint(got), "pw") {
			t.Errorf("%v %+v, want an error and no password", e, got)
		}
	}

	for _, urls := range [][]string{
		nil,
		{"h:8000"},
		{"http://h/v1", "ftp://me:pw@h"},
		{"http://me:pw@h:x y/v1"},
		{"me:pw@h:8000/v1"},
		{"http://"},
	} {
		_, err := PolicyServers(urls, Config{})
		if fault.KindOf(err) != fault.Invalid || strings.Contains(err.Error(), "pw") {
			t.Errorf("PolicyServers(%v) = %v, want an invalid fault without the password", urls, err)
		}
	}
}
