package openenv

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
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

// served puts a suite behind a server and gives a client's suite of it.
func served(t *testing.T, s envadapters.Suite, places int) *Suite {
	t.Helper()
	h, err := Handler(s)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	c, err := New(envadapters.Options{Servers: []string{"ws" + strings.TrimPrefix(srv.URL, "http") + "/ws"}, Places: places})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAcceptanceOfOurOwnSuitesOverTheNetwork(t *testing.T) {
	web, err := autowebbench.New(envadapters.Options{Data: "../autowebbench/testdata"})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []envadapters.Suite{&scripted.Suite{}, web} {
		c := served(t, s, 2)
		for _, r := range acceptance.Test(t, c, 3) {
			if r.Expert != acceptance.Solves || r.Replay != acceptance.Identical {
				t.Errorf("%+v", r)
			}
		}
		if envadapters.ProtocolOf(c) != envadapters.ProtocolOf(s) || c.Family() != s.Family() || c.Title() != s.Title()+" (over OpenEnv)" {
			t.Errorf("%q %q %q", c.Protocol(), c.Family(), c.Title())
		}
	}
}

// TestTheNetworkChangesNothing: the same actions lead to the same transitions and score, with a server between or without.
func TestTheNetworkChangesNothing(t *testing.T) {
	local, _ := autowebbench.New(envadapters.Options{Data: "../autowebbench/testdata"})
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
	if a, b := play(local), play(served(t, local, 1)); a != b {
		t.Errorf("\n%s\n%s", a, b)
	}
}

// TestALostConnectionTearsDown: the only place of the suite behind the server is free again.
func TestALostConnectionTearsDown(t *testing.T) {
	s := &scripted.Suite{Places: 1}
	c := served(t, s, 3)
	task := domain.Task{Template: "a", Split: domain.SplitTrain, Seed: 1, MaxSteps: 5}
	one, err := c.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := one.Reset(t.Context(), task); err != nil {
		t.Fatal(err)
	}
	_ = one.(*environment).conn.ws.CloseNow() // as a killed worker's
	two, err := c.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := two.Reset(t.Context(), task); err != nil {
		t.Errorf("the place is still taken: %v", err)
	}
	three, _ := c.Open(t.Context())
	if _, err := three.Reset(t.Context(), task); CodeOf(err) != CodeCapacity || fault.KindOf(err) != fault.Void {
		t.Errorf("a second session at a server with one place: %v", err)
	}
	if _, err := one.Step(t.Context(), domain.Action{Type: domain.ActionWait}); fault.KindOf(err) != fault.Void {
		t.Error(err)
	}
	for _, e := range []envadapters.Environment{one, two, three} {
		e.Close(t.Context())
	}
}

// fake is a server that answers as told; answers may be late.
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
			if err != nil || json.Unmarshal(raw, &f) != nil || f.Type == "close" {
				return
			}
			text, late := answer(n, f)
			time.Sleep(late)
			if text == "" {
				return
			}
			if ws.Write(r.Context(), websocket.MessageText, []byte(text)) != nil {
				return
			}
		}
	}))
	t.Cleanup(srv.Close)
	return "ws" + strings.TrimPrefix(srv.URL, "http") + "/ws"
}

func TestAServerThatMisbehavesVoidsTheEpisodeAndNoMore(t *testing.T) {
	ok := `{"type":"observation","data":{"observation":{"goal":"g","elements":[{"i":0,"role":"button","bounds":[0,0,1,1],"visible":true}]},"reward":null,"done":false}}`
	state := `{"type":"state","data":{"profile":"collabui/1","suite":"x","title":"X","family":"mobile","splits":["train"],"tasks":[{"name":"a","split":"train","max_steps":5}]}}`
	for name, bad := range map[string]string{
		"no JSON":                `{"type":`,
		"another session's end":  "",
		"out of order":           strings.Replace(ok, `"i":0,"role":"button","bounds":[0,0,1,1],"visible":true`, `"i":3,"role":"x"},{"i":3,"role":"y"`, 1),
		"an observation of text": `{"type":"observation","data":{"observation":"hello","done":false}}`,
		"its own fault":          `{"type":"error","data":{"code":"EXECUTION_ERROR","message":"` + strings.Repeat("m", 5000) + `"}}`,
		"an error without code":  `{"type":"error","data":3}`,
	} {
		s, err := New(envadapters.Options{Servers: []string{fake(t, func(_ int, f frame) (string, time.Duration) {
			switch f.Type {
			case "state":
				return state, 0
			case "reset":
				return ok, 0
			}
			return bad, 0
		})}})
		if err != nil {
			t.Fatal(err)
		}
		env, err := s.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := env.Reset(t.Context(), domain.Task{Template: "a", Split: "train", MaxSteps: 5}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := env.Step(t.Context(), domain.Action{Type: domain.ActionClick}.At(0)); fault.KindOf(err) != fault.Void || len(err.Error()) > 1000 {
			t.Errorf("%s: %v", name, err)
		}
		env.Close(t.Context())
	}
}

func TestAfterATimeOutTheSessionIsClosedSoThatNoAnswerIsTakenForAnothers(t *testing.T) {
	c, err := Dial(t.Context(), fake(t, func(n int, _ frame) (string, time.Duration) {
		return `{"type":"state","data":{"n":` + string(rune('0'+n)) + `}}`, 200 * time.Millisecond
	}))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	var got struct{ N int }
	if err := c.Call(ctx, "state", nil, &got); fault.KindOf(err) != fault.Void {
		t.Error(err)
	}
	if err := c.Call(t.Context(), "state", nil, &got); err == nil || got.N != 0 {
		t.Errorf("the next call got %+v, %v", got, err)
	}
}

func TestRefusalsOfOurServer(t *testing.T) {
	h, err := Handler(&scripted.Suite{})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(h)
	defer srv.Close()
	c, err := Dial(t.Context(), "ws"+strings.TrimPrefix(srv.URL, "http")+"/ws")
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		kind string
		data any
		code string
	}{
		{"fly", nil, CodeType}, {"step", map[string]any{"action_type": "wait"}, CodeSession}, {"reset", map[string]any{"task": "none"}, CodeUnknownTask}, {"reset", map[string]any{"sead": 1}, CodeValidation},
		{"state", ask{Image: "png"}, CodeSession}, {"reset", map[string]any{"seed": 3, "episode_id": "e"}, ""}, {"step", map[string]any{"action_type": "click", "index": 0, "x": 1}, CodeValidation},
		{"step", map[string]any{"action": "finish"}, CodeValidation}, {"state", ask{Image: "png"}, CodeValidation}, {"state", nil, ""}, {"step", map[string]any{"action_type": "click", "index": 0}, ""},
	} {
		var out any
		if err := c.Call(t.Context(), x.kind, x.data, &out); CodeOf(err) != x.code || (err != nil) != (x.code != "") {
			t.Errorf("%s %v: %v", x.kind, x.data, err)
		}
	}
	for path, want := range map[string]string{"/health": `"healthy"`, "/metadata": `"collabui/1"`, "/schema": `"action_type"`} {
		res, err := http.Get(srv.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if !strings.Contains(string(b), want) || !json.Valid(b) {
			t.Errorf("%s: %s", path, b)
		}
	}
	req, _ := http.NewRequest(http.MethodGet, srv.URL+"/ws", nil) // a web page on another origin
	for k, v := range map[string]string{"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==", "Origin": "http://evil.example"} {
		req.Header.Set(k, v)
	}
	if res, err := http.DefaultClient.Do(req); err != nil || res.StatusCode != http.StatusForbidden {
		t.Errorf("%v %v", res, err)
	}
}

// TestAForeignServerByConfigurationAlone: a BrowserGym-like environment with its own fields.
func TestAForeignServerByConfigurationAlone(t *testing.T) {
	var mu sync.Mutex
	var heard []string
	url := fake(t, func(_ int, f frame) (string, time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		heard = append(heard, f.Type+" "+string(f.Data))
		done := strings.Contains(string(f.Data), "send_msg")
		if strings.Contains(string(f.Data), "noop") {
			return `{"type":"error","data":{"code":"VALIDATION_ERROR","message":"no such action"}}`, 0
		}
		b, _ := json.Marshal(map[string]any{"type": "observation", "data": map[string]any{"done": done, "reward": map[bool]any{true: true, false: nil}[done], "observation": map[string]any{
			"goal": map[string]any{"text": "Log in"}, "tree": "RootWebArea 'x'\n\t[12] textbox 'Name'\n  [a7] button 'Log in'\n"}}})
		return string(b), 0
	})
	s, err := New(envadapters.Options{Servers: []string{url}, MaxSteps: 4, Mapping: envadapters.Mapping{Family: "web", Goal: "goal.text", Text: "tree", Line: `\[(?P<id>\w+)\] (?P<role>\w+) '(?P<text>[^']*)'`,
		Action: `{"action_str": {{json (browsergym .)}}}`, Reset: `{"seed": {{.Seed}}, "task_name": {{json .Template}}}`, Tasks: []string{"login"}}})
	if err != nil {
		t.Fatal(err)
	}
	env, err := s.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer env.Close(t.Context())
	tr, err := env.Reset(t.Context(), domain.Task{Template: "login", Split: domain.SplitTrain, Seed: 5, MaxSteps: 4})
	if err != nil || tr.Goal != "Log in" || len(tr.Observation.Elements) != 2 || !tr.Observation.Elements[0].Editable || tr.Observation.Elements[1].ID != "a7" {
		t.Fatalf("%+v %v", tr, err)
	}
	web := func(a domain.Action) domain.Action { a.Family = domain.FamilyWeb; return a }
	for _, x := range []struct {
		a             domain.Action
		invalid, over bool
	}{{web(domain.Action{Type: "type_string", Element: "12", Text: `A "b"`}), false, false}, {web(domain.Action{Type: "click", Element: "99"}), true, false}, {web(domain.Action{Type: "none"}), true, false},
		{web(domain.Action{Type: "finish", Answer: "ok"}), false, true}} {
		if tr, err = env.Step(t.Context(), x.a); err != nil || (tr.Invalid != "") != x.invalid || tr.Terminated != x.over {
			t.Errorf("%s: %+v %v", x.a.JSON(), tr, err)
		}
	}
	if sc, _ := env.Score(t.Context()); !sc.Success || sc.Raw != 1 || tr.Reward != 1 {
		t.Errorf("%+v", sc)
	}
	want := []string{`reset {"seed": 5, "task_name": "login"}`, `step {"action_str": "fill(\"12\", \"A \\\"b\\\"\")"}`, `step {"action_str": "noop()"}`, `step {"action_str": "send_msg_to_user(\"ok\")"}`}
	mu.Lock()
	defer mu.Unlock()
	for i, w := range want {
		if i >= len(heard) || strings.ReplaceAll(heard[i], " ", "") != strings.ReplaceAll(w, " ", "") {
			t.Errorf("heard %q, want %q", heard, w)
			break
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for _, o := range []envadapters.Options{{}, {Servers: []string{"http://x"}}, {Servers: []string{"ws://x"}, Mapping: envadapters.Mapping{Line: "("}}, {Servers: []string{"ws://x"}, Mapping: envadapters.Mapping{Action: "{{"}},
		{Servers: []string{"ws://x"}, Mapping: envadapters.Mapping{Family: "x"}}, {Servers: []string{"ws://x"}, Mapping: envadapters.Mapping{Fields: map[string]string{"x": "y"}}}} {
		if _, err := New(o); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%+v: %v", o, err)
		}
	}
	s, _ := New(envadapters.Options{Servers: []string{"ws://127.0.0.1:1/ws"}})
	if h := s.Check(t.Context()); h.State != envadapters.Dead || h.Fix == "" {
		t.Error(h)
	}
	if _, err := s.Open(t.Context()); err == nil || errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// BenchmarkStep measures one step with forty elements there and back, over loopback.
func BenchmarkStep(b *testing.B) {
	h, err := Handler(&scripted.Suite{Length: 6})
	if err != nil {
		b.Fatal(err)
	}
	srv := httptest.NewServer(h)
	defer srv.Close()
	s, err := New(envadapters.Options{Servers: []string{"ws" + strings.TrimPrefix(srv.URL, "http") + "/ws"}})
	if err != nil {
		b.Fatal(err)
	}
	env, err := s.Open(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer env.Close(b.Context())
	task := domain.Task{Template: "a", Split: domain.SplitTrain, Seed: 1, MaxSteps: 1 << 30}
	if _, err := env.Reset(b.Context(), task); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := env.Step(b.Context(), domain.Action{Type: domain.ActionWait}); err != nil {
			b.Fatal(err)
		}
	}
}
