package openenv

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/acceptance"
	"github.com/collabui/collabui/envadapters/autowebbench"
	"github.com/collabui/collabui/envadapters/scripted"
	"github.com/collabui/collabui/fault"
)

// serve starts a server of a suite and returns its HTTP URL and the address of its sessions.
func serve(t testing.TB, s envadapters.Suite) (base, address string) {
	t.Helper()

	h, err := Handler(s)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)

	return srv.URL, "ws" + strings.TrimPrefix(srv.URL, "http") + "/ws"
}

// served returns a suite that plays s over the network.
func served(t testing.TB, s envadapters.Suite, places int) *Suite {
	t.Helper()

	_, address := serve(t, s)
	c, err := New(envadapters.Options{Servers: []string{address}, Places: places})
	if err != nil {
		t.Fatal(err)
	}

	return c
}

// recorded is a suite of recorded tasks.
func recorded(t *testing.T) envadapters.Suite {
	t.Helper()

	s, err := autowebbench.New(envadapters.Options{Data: "../autowebbench/testdata"})
	if err != nil {
		t.Fatal(err)
	}

	return s
}

// fake starts a server that gives the answers of a function. An answer may be delayed; an empty one ends the session.
func fake(t *testing.T, answer func(n int, f frame) (string, time.Duration)) string {
	t.Helper()

	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = ws.CloseNow() }()

		for n := 0; ; n++ {
			_, raw, err := ws.Read(r.Context())
			var f frame
			if err != nil || json.Unmarshal(raw, &f) != nil || f.Type == frameClose {
				return
			}

			text, late := answer(n, f)
			time.Sleep(late)
			for one := range strings.SplitSeq(text, "\n") {
				if one == "" || ws.Write(r.Context(), websocket.MessageText, []byte(one)) != nil {
					return
				}
			}
		}
	}))
	t.Cleanup(srv.Close)

	return "ws" + strings.TrimPrefix(srv.URL, "http") + "/ws"
}

// opened opens an environment.
func opened(t *testing.T, s *Suite) *environment {
	t.Helper()

	e, err := s.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close(context.Background()) })

	return e.(*environment)
}

func TestAcceptanceOverTheNetwork(t *testing.T) {
	for _, s := range []envadapters.Suite{&scripted.Suite{}, recorded(t)} {
		t.Run(s.Name(), func(t *testing.T) {
			c := served(t, s, 2)
			for _, r := range acceptance.Test(t, c, 3) {
				if r.Expert != acceptance.Solves || r.Replay != acceptance.Identical {
					t.Errorf("%s: the expert %s, the replay is %s, want %s and %s",
						r.Template, r.Expert, r.Replay, acceptance.Solves, acceptance.Identical)
				}
			}

			if got, want := c.Protocol(), envadapters.ProtocolOf(s); got != want {
				t.Errorf("Protocol() = %q, want %q", got, want)
			}
			if got, want := c.Family(), s.Family(); got != want {
				t.Errorf("Family() = %q, want %q", got, want)
			}
			if got, want := c.Title(), s.Title()+" (over OpenEnv)"; got != want {
				t.Errorf("Title() = %q, want %q", got, want)
			}
		})
	}
}

// TestTheNetworkChangesNothing expects the same transitions and score with and without a server.
func TestTheNetworkChangesNothing(t *testing.T) {
	play := func(s envadapters.Suite) string {
		env, err := s.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer env.Close(t.Context())

		var all []any
		tr, err := env.Reset(t.Context(), domain.Task{Template: "0002", Split: "en-ind", MaxSteps: 2})
		for n := 0; ; n++ {
			right := envadapters.Can(env).Judge.Right()
			all = append(all, tr, right)
			if err != nil || tr.Terminated || tr.Truncated {
				break
			}

			a := domain.Action{Family: domain.FamilyWeb, Type: domain.ActionNone}
			if n == 0 {
				a = right[0]
			}
			tr, err = env.Step(t.Context(), a)
		}

		sc, _ := env.Score(t.Context())
		b, _ := json.Marshal(append(all, sc, err))

		return strings.ReplaceAll(string(b), "null", "[]")
	}

	local := recorded(t)
	want := play(local)
	if got := play(served(t, local, 1)); got != want {
		t.Errorf("over the network:\n%s\nwant as without:\n%s", got, want)
	}
}

// TestALostConnectionTearsDown expects that the only place of the suite is free again, and that one more session gets
// no place.
func TestALostConnectionTearsDown(t *testing.T) {
	c := served(t, &scripted.Suite{Places: 1}, 3)
	task := domain.Task{Template: "a", Split: domain.SplitTrain, Seed: 1, MaxSteps: 5}

	one := opened(t, c)
	if _, err := one.Reset(t.Context(), task); err != nil {
		t.Fatal(err)
	}
	_ = one.conn.ws.CloseNow() // as when a worker is killed

	two := opened(t, c)
	if _, err := two.Reset(t.Context(), task); err != nil {
		t.Errorf("reset after a lost connection = %v, want the place to be free", err)
	}

	three := opened(t, c)
	_, err := three.Reset(t.Context(), task)
	if CodeOf(err) != CodeCapacity || fault.KindOf(err) != fault.Void {
		t.Errorf("a second session at a server with one place = %v, want a void fault with %s", err, CodeCapacity)
	}

	_, err = one.Step(t.Context(), domain.Action{Type: domain.ActionWait})
	if fault.KindOf(err) != fault.Void {
		t.Errorf("step on a lost connection = %v, want a void fault", err)
	}
}

const (
	okState = `{"type":"state","data":{"profile":"collabui/1","suite":"x","title":"X","family":"mobile",` +
		`"splits":["train"],"tasks":[{"name":"a","split":"train","max_steps":5}]}}`
	okElement     = `"i":0,"role":"button","bounds":[0,0,1,1],"visible":true`
	okObservation = `{"type":"observation","data":{"observation":{"goal":"g","elements":[{` + okElement + `}]},` +
		`"reward":null,"done":false}}`
)

func TestAServerThatMisbehavesVoidsTheEpisodeAndNoMore(t *testing.T) {
	long := strings.Repeat("m", 5000)
	for name, bad := range map[string]string{
		"no JSON":                `{"type":`,
		"the end of the session": "",
		"out of order":           strings.Replace(okObservation, okElement, `"i":3,"role":"x"},{"i":3,"role":"y"`, 1),
		"a wrong right action":   strings.Replace(okObservation, `"goal"`, `"right":[{"action_type":"fly"}],"goal"`, 1),
		"an observation of text": `{"type":"observation","data":{"observation":"hello","done":false}}`,
		"its own fault":          `{"type":"error","data":{"code":"EXECUTION_ERROR","message":"` + long + `"}}`,
		"an error without code":  `{"type":"error","data":3}`,
		"a frame of 64 MiB":      okObservation + strings.Repeat(" ", maxAnswer),
	} {
		t.Run(name, func(t *testing.T) {
			address := fake(t, func(_ int, f frame) (string, time.Duration) {
				switch f.Type {
				case FrameState:
					return okState, 0
				case FrameReset:
					return okObservation, 0
				}
				return bad, 0
			})
			s, err := New(envadapters.Options{Servers: []string{address}})
			if err != nil {
				t.Fatal(err)
			}

			env := opened(t, s)
			task := domain.Task{Template: "a", Split: "train", MaxSteps: 5}
			if _, err := env.Reset(t.Context(), task); err != nil {
				t.Fatal(err)
			}

			_, err = env.Step(t.Context(), domain.Action{Type: domain.ActionClick}.At(0))
			if fault.KindOf(err) != fault.Void || len(err.Error()) > 1000 {
				t.Errorf("step = %v, want a void fault with a short text", err)
			}
		})
	}
}

func TestATimeoutClosesTheSessionSoALateAnswerIsNotTakenForTheNext(t *testing.T) {
	c, err := Dial(t.Context(), fake(t, func(n int, _ frame) (string, time.Duration) {
		return `{"type":"state","data":{"n":` + string(rune('0'+n)) + `}}`, 200 * time.Millisecond
	}))
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()

	var got struct{ N int }
	if err := c.Call(ctx, FrameState, nil, &got); fault.KindOf(err) != fault.Void {
		t.Errorf("a call without an answer = %v, want a void fault", err)
	}
	if err := c.Call(t.Context(), FrameState, nil, &got); err == nil || got.N != 0 {
		t.Errorf("the next call = %+v, %v, want an error and no answer", got, err)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	server := []string{"ws://x"}
	for name, o := range map[string]envadapters.Options{
		"no server":       {},
		"another scheme":  {Servers: []string{"http://x"}},
		"a wrong line":    {Servers: server, Mapping: envadapters.Mapping{Line: "("}},
		"a wrong action":  {Servers: server, Mapping: envadapters.Mapping{Action: "{{"}},
		"a wrong reset":   {Servers: server, Mapping: envadapters.Mapping{Reset: "{{"}},
		"a wrong family":  {Servers: server, Mapping: envadapters.Mapping{Family: "x"}},
		"an unknown name": {Servers: server, Mapping: envadapters.Mapping{Fields: map[string]string{"x": "y"}}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := New(o); fault.KindOf(err) != fault.Invalid {
				t.Errorf("New(%+v) = %v, want an invalid fault", o, err)
			}
		})
	}
}

func TestASuiteWithoutItsServerIsDead(t *testing.T) {
	s, err := New(envadapters.Options{Servers: []string{"ws://127.0.0.1:1/ws"}})
	if err != nil {
		t.Fatal(err)
	}

	if h := s.Check(t.Context()); h.State != envadapters.Dead || h.Fix == "" {
		t.Errorf("Check = %+v, want %s and a fix", h, envadapters.Dead)
	}
	if _, err := s.Open(t.Context()); err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("Open = %v, want an error of the connection", err)
	}
}
