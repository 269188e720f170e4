package openenv

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/scripted"
)

func TestTheServerRefusesWhatIsWrong(t *testing.T) {
	_, address := serve(t, &scripted.Suite{})
	c, err := Dial(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)

	type data = map[string]any
	// The requests belong to one session, so their order matters.
	for _, x := range []struct {
		name string
		kind FrameType
		data any
		want Code
	}{
		{name: "an unknown type", kind: "fly", want: CodeType},
		{name: "a step before the reset", kind: FrameStep, data: data{"action_type": "wait"}, want: CodeSession},
		{name: "an unknown task", kind: FrameReset, data: data{"task": "none"}, want: CodeUnknownTask},
		{name: "an unknown field", kind: FrameReset, data: data{"sead": 1}, want: CodeValidation},
		{name: "an image before the reset", kind: FrameState, data: stateData{Image: "png"}, want: CodeSession},
		{name: "a reset", kind: FrameReset, data: data{"seed": 3, "episode_id": "e"}},
		{
			name: "an action with an unknown field",
			kind: FrameStep,
			data: data{"action_type": "click", "index": 0, "x": 1},
			want: CodeValidation,
		},
		{name: "an action of the other family", kind: FrameStep, data: data{"action": "finish"}, want: CodeValidation},
		{name: "an image that it has not", kind: FrameState, data: stateData{Image: "png"}, want: CodeValidation},
		{name: "a question for the right actions", kind: FrameState, data: data{"right": true}, want: CodeValidation},
		{name: "a question for the state", kind: FrameState},
		{name: "a step", kind: FrameStep, data: data{"action_type": "click", "index": 0}},
	} {
		var out any
		err := c.Call(t.Context(), x.kind, x.data, &out)
		if got := CodeOf(err); got != x.want || (err != nil) != (x.want != "") {
			t.Errorf("%s: got code %q, %v, want %q", x.name, got, err, x.want)
		}
	}
}

// helped is a suite in which the expert's action is not the judge's first.
type helped struct{ scripted.Suite }

func (s *helped) Open(ctx context.Context) (envadapters.Environment, error) {
	env, err := s.Suite.Open(ctx)
	return helpedEnvironment{env}, err
}

type helpedEnvironment struct{ envadapters.Environment }

func (helpedEnvironment) Right() []domain.Action {
	return []domain.Action{{Type: domain.ActionHome}, {Type: domain.ActionBack}, {Type: domain.ActionWait}}
}

func (helpedEnvironment) Advise() (domain.Action, bool) {
	return domain.Action{Type: domain.ActionBack}, true
}

func TestTheRightActionsAreSentOnRequestOnlyTheExpertsFirst(t *testing.T) {
	_, address := serve(t, &helped{})
	c, err := Dial(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)

	for _, x := range []struct {
		asks bool
		want string
	}{
		{asks: false, want: ""},
		{asks: true, want: "navigate_back navigate_home wait"},
		{asks: false, want: ""},
	} {
		frames := []any{resetData{Task: "a", Split: "train", Right: x.asks}, domain.Action{Type: domain.ActionWait}}
		for i, kind := range []FrameType{FrameReset, FrameStep} {
			var got struct{ Observation Observation }
			if err := c.Call(t.Context(), kind, frames[i], &got); err != nil {
				t.Fatal(err)
			}
			var right []string
			for _, a := range got.Observation.Right {
				right = append(right, a.Type)
			}
			if got := strings.Join(right, " "); got != x.want {
				t.Errorf("asked %v, %s says that %q help, want %q", x.asks, kind, got, x.want)
			}
		}
	}
}

func TestTheRightActionsDoNotReachWhatAgentsSee(t *testing.T) {
	env := opened(t, served(t, &helped{}, 1))
	task := domain.Task{Template: "a", Split: domain.SplitTrain, Seed: 1, MaxSteps: 5}
	tr, err := env.Reset(t.Context(), task)
	if err != nil {
		t.Fatal(err)
	}

	shown, err := json.Marshal(tr)
	if err != nil || strings.Contains(string(shown), domain.ActionBack) {
		t.Errorf("agents see %s, %v, want no action in it", shown, err)
	}
	can := envadapters.Can(env)
	if a, ok := can.Expert.Advise(); !ok || a.Type != domain.ActionBack || len(can.Judge.Right()) != 3 {
		t.Errorf("the expert says %s, the judge %v, want %s and three actions", a.JSON(), can.Judge.Right(),
			domain.ActionBack)
	}
}

func TestTheServerDescribesItselfOverHTTP(t *testing.T) {
	base, _ := serve(t, &scripted.Suite{})
	for path, want := range map[string]string{
		"/health":       `"healthy"`,
		"/metadata":     `"collabui/1"`,
		"/schema":       `"action_type"`,
		"/openapi.json": `"/mcp"`,
	} {
		t.Run(path, func(t *testing.T) {
			res, err := http.Get(base + path)
			if err != nil {
				t.Fatal(err)
			}

			b, _ := io.ReadAll(res.Body)
			_ = res.Body.Close()
			if !json.Valid(b) || !strings.Contains(string(b), want) {
				t.Errorf("got %s, want JSON with %s", b, want)
			}
		})
	}
}

func TestTheServerAnswersMCP(t *testing.T) {
	base, _ := serve(t, &scripted.Suite{})
	for _, x := range []struct{ name, request, want string }{
		{"a list", `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":7,"result":{"tools":[]}}`},
		{"no request", `{}`, `"id":null,"error":{"code":-32600,`},
		{"no JSON", `{`, `"id":null,"error":{"code":-32700,`},
		{
			name:    "another method",
			request: `{"jsonrpc":"2.0","id":"a","method":"tools/call"}`,
			want:    `"id":"a","error":{"code":-32601,"message":"unknown method tools/call; known is tools/list"`,
		},
		{
			name:    "too long",
			request: `{"a":"` + strings.Repeat("x", maxRequest),
			want:    `"code":-32700,"message":"http: request body too large"`,
		},
	} {
		t.Run(x.name, func(t *testing.T) {
			res, err := http.Post(base+"/mcp", "application/json", strings.NewReader(x.request))
			if err != nil {
				t.Fatal(err)
			}
			answer, _ := io.ReadAll(res.Body)
			_ = res.Body.Close()
			if res.StatusCode != http.StatusOK || !strings.Contains(string(answer), x.want) {
				t.Errorf("got status %d and %s, want 200 and %s", res.StatusCode, answer, x.want)
			}
		})
	}
}

func TestTheServerRefusesPagesOfAWebBrowser(t *testing.T) {
	base, _ := serve(t, &scripted.Suite{})
	req, err := http.NewRequest(http.MethodGet, base+"/ws", nil)
	if err != nil {
		t.Fatal(err)
	}

	for k, v := range map[string]string{
		"Connection":            "Upgrade",
		"Upgrade":               "websocket",
		"Sec-WebSocket-Version": "13",
		"Sec-WebSocket-Key":     "AAAAAAAAAAAAAAAAAAAAAA==",
		"Origin":                "http://evil.example",
	} {
		req.Header.Set(k, v)
	}

	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusForbidden {
		t.Errorf("status %d, want %d", res.StatusCode, http.StatusForbidden)
	}
}
