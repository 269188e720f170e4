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

	"github.com/collabui/collabui/internal/method/chat"

	"github.com/collabui/collabui/fault"
)

func TestLoadWantsAQuorum(t *testing.T) {
	long := strings.Repeat("ü", 5000)
	ok, there := says(200, "Success"), says(400, `{"message":"The lora adapter 'm' has already been loaded."}`)
	missing, wrong, down := says(404, "no adapter found "+long), says(409, "wrong base model\n"+long), says(503, "starting")
	for _, x := range []struct {
		says   [3]http.HandlerFunc
		quorum int
		kind   fault.Kind // "": success
		words  []string   // "1" is the second server's address
	}{
		{[3]http.HandlerFunc{ok, there, ok}, 0, "", nil},
		{[3]http.HandlerFunc{ok, down, ok}, 2, "", nil},
		{[3]http.HandlerFunc{wrong, down, ok}, 1, "", nil},
		{[3]http.HandlerFunc{ok, down, ok}, 0, fault.Transient, []string{"on 2 of 3", "3 are needed", "1: load policy m: the server answered 503 Service Unavailable: starting"}},
		{[3]http.HandlerFunc{missing, missing, ok}, 2, fault.Transient, []string{"0: ", "1: ", "404 Not Found: no adapter found üü"}},
		{[3]http.HandlerFunc{down, wrong, ok}, 2, fault.Invalid, []string{"0: ", "1: ", "409 Conflict: wrong base model üü"}},
		{[3]http.HandlerFunc{ok, ok, ok}, 4, fault.Invalid, []string{"quorum of 4", "there are 3"}},
		{[3]http.HandlerFunc{ok, ok, ok}, -1, fault.Invalid, []string{"quorum of -1"}},
	} {
		fs, p, _ := fakes(t, 3, 0)
		for k, f := range fs {
			f.set(func(w http.ResponseWriter, r *http.Request) {
				if b, _ := io.ReadAll(r.Body); r.URL.Path != "/v1/load_lora_adapter" || r.Header.Get("Authorization") != "Bearer k-1" || string(b) != `{"lora_name":"m","lora_path":"m"}` {
					t.Errorf("%s %v %s", r.URL, r.Header, b)
				}
				x.says[k](w, r)
			})
		}
		err := p.Load(t.Context(), "m", x.quorum)
		if (err == nil) != (x.kind == "") || err != nil && (fault.KindOf(err) != x.kind || strings.Contains(err.Error(), strings.Repeat("ü", maxReason))) {
			t.Errorf("quorum %d: %v", x.quorum, err)
		}
		for _, w := range x.words {
			if i := slices.Index([]string{"0", "1", "2"}, w[:1]); i >= 0 && w[1] == ':' {
				w = fs[i].URL + "/v1" + w[1:]
			}
			if err != nil && !strings.Contains(err.Error(), w) {
				t.Errorf("%q is not in %v", w, err)
			}
		}
	}
}

func TestLoadWaitsALittleForTheOthers(t *testing.T) {
	fs, p, _ := fakes(t, 3, 0)
	p.late = time.Second
	slow := atomic.Bool{}
	fs[0].set(hangs)
	fs[1].set(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(50 * time.Millisecond)
		slow.Store(true)
		says(200, "")(w, r)
	})
	p.servers[1].avoid["m"] = pause{until: p.now().Add(maxAvoid)}
	start := time.Now()
	if err := p.Load(t.Context(), "m", 1); err != nil || !slow.Load() || time.Since(start) > 10*time.Second {
		t.Errorf("%v after %v, the slow one is there: %v", err, time.Since(start), slow.Load())
	}
	if len(p.servers[1].avoid) != 0 {
		t.Error("a server that has the policy now is avoided for it")
	}
	p, err := PolicyServers([]string{fs[0].URL + "/v1"}, "", 50*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Load(t.Context(), "m", 0); fault.KindOf(err) != fault.Transient || !strings.Contains(err.Error(), "no answer within 50ms") {
		t.Error(err)
	}
}

func TestHealthAndAddresses(t *testing.T) {
	fs, _, _ := fakes(t, 3, 0)
	fs[1].set(says(503, "the engine died\n"+strings.Repeat("x", 1<<20)))
	fs[2].Close()
	secret := func(f *fake) string { return strings.Replace(f.URL, "http://", "http://me:pw@", 1) + "/v1" }
	p, err := PolicyServers([]string{secret(fs[0]), fs[1].URL + "/v1/", secret(fs[2])}, "", time.Second)
	if err != nil {
		t.Fatal(err)
	}
	got := p.Health(t.Context())
	if !got[0].OK || got[0].Detail != "" || got[1].OK || !strings.HasPrefix(got[1].Detail, "/health answers 503 the engine died xx") || len(got[1].Detail) > 500 || got[2].OK || !strings.Contains(got[2].Detail, "refused") {
		t.Errorf("%+v", got)
	}
	fs[0].set(says(401, ""))
	_, refused := p.Complete(t.Context(), chat.Request{Model: "m"})
	for _, e := range []error{refused, p.Load(t.Context(), "m", 0), p.servers[2].client.Load(t.Context(), "m")} {
		if e == nil || strings.Contains(e.Error(), "pw") || strings.Contains(fmt.Sprint(got), "pw") {
			t.Errorf("%v %+v", e, got)
		}
	}
	for _, urls := range [][]string{nil, {"h:8000"}, {"http://h/v1", "ftp://me:pw@h"}, {"http://me:pw@h:x y/v1"}, {"me:pw@h:8000/v1"}, {"http://"}} {
		if _, err := PolicyServers(urls, "", 0); fault.KindOf(err) != fault.Invalid || strings.Contains(err.Error(), "pw") {
			t.Errorf("%v: %v", urls, err)
		}
	}
}
