//go:build integration

package integration

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/policy/infer"
)

// asked is the input of a client: the address and the request.
type asked struct {
	URL    string `json:"url"`
	Key    string `json:"key"`
	Model  string `json:"model"`
	Prompt string `json:"prompt"`
	Seed   int    `json:"seed"`
}

// said is the output of a client.
type said struct {
	List            []string
	Retrieved       string
	Plain, Streamed struct {
		Content       string
		Roles, Finish []string
		Usage         [3]int // prompt, completion, total
	}
	Agents             [][3]int
	Stopped, Tolerated string
	Ignored            string
	Refused            map[string]*struct {
		Status                     int
		Code, Param, Type, Message string
	}
}

// TestOfficialClients queries a real `collabui infer`, which serves a trained run, with OpenAI's packages. `make
// clients` runs it.
func TestOfficialClients(t *testing.T) {
	t.Parallel()
	programs := map[string][]string{}
	if p := os.Getenv("COLLABUI_CLIENTS_PYTHON"); p != "" {
		programs["python"] = []string{p, "testdata/openai_client.py"}
	}
	if p := os.Getenv("COLLABUI_CLIENTS_NODE"); p != "" {
		programs["node"] = []string{"env", "NODE_PATH=" + p, "node", "testdata/openai_client.cjs"}
	}
	if len(programs) == 0 {
		t.Skip("no client of OpenAI is there: `make clients` installs them")
	}

	m := newMachine(t, strings.Replace(specification, "epochs: 2", "epochs: 1", 1))
	m.must("train", m.spec)
	q := asked{Key: "sesame", Model: "kill"}
	q.Prompt = "Goal: Tap Send\nHistory: none\nScreen:\n0 button Send\n1 button Back"
	q.URL = m.infers(q.Key)
	q.Seed = q.decidedBy(t)
	for name, program := range programs {
		t.Run(name, func(t *testing.T) { q.wantSaid(t, q.run(t, program)) })
	}
}

// infers serves the run until the test ends and returns the address.
func (m *machine) infers(key string) string {
	m.t.Helper()
	cmd := exec.Command(binary("collabui"), "infer", "kill", "--listen", "127.0.0.1:0", "--json", "--data", m.data)
	cmd.Env, cmd.Stderr = append(os.Environ(), infer.EnvKey+"="+key), os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })

	var shown struct{ URL string }
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &shown)
	}
	if err != nil {
		m.t.Fatal(err)
	}

	return shown.URL
}

// decidedBy returns a seed with which the system reaches a decision about the prompt. A small policy does not with
// every seed.
func (q asked) decidedBy(t *testing.T) int {
	t.Helper()
	for seed := range 20 {
		body, err := json.Marshal(map[string]any{
			"seed": seed, "messages": []map[string]string{{"role": "user", "content": q.Prompt}},
		})
		if err != nil {
			t.Fatal(err)
		}
		request, err := http.NewRequestWithContext(
			t.Context(), http.MethodPost, q.URL+"/chat/completions", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+q.Key)
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode == http.StatusOK {
			return seed
		}
	}
	t.Fatal("no seed decides anything, want one")

	return 0
}

// run runs a client and returns its output.
func (q asked) run(t *testing.T, program []string) (s said) {
	t.Helper()
	in, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), program[0], program[1:]...)
	c.Stdin, c.Stderr = bytes.NewReader(in), os.Stderr
	out, err := c.Output()
	if err == nil {
		err = json.Unmarshal(out, &s)
	}
	if err != nil {
		t.Fatalf("%s ends with %v, want an object\n%s", filepath.Base(program[len(program)-1]), err, out)
	}
	t.Logf("%s", out)

	return s
}

func (q asked) wantSaid(t *testing.T, s said) {
	t.Helper()
	if want := []string{q.Model}; !reflect.DeepEqual(s.List, want) || s.Retrieved != q.Model {
		t.Errorf("the models are %v and %q, want %v", s.List, s.Retrieved, want)
	}
	if _, err := agents.ParseAnswer(s.Plain.Content); err != nil {
		t.Errorf("the answer %q has no action (%v), want one", s.Plain.Content, err)
	}
	if s.Plain.Finish[0] != "stop" || s.Plain.Roles[0] != "assistant" {
		t.Errorf("the answer = %+v, want one of the assistant that stopped", s.Plain)
	}
	// The second request finds the prompts in the servers' caches, which changes no count of tokens here.
	if !reflect.DeepEqual(s.Streamed, s.Plain) {
		t.Errorf("the stream = %+v, want %+v", s.Streamed, s.Plain)
	}
	if want, _, _ := strings.Cut(s.Plain.Content, "Action:"); s.Stopped != want || want == s.Plain.Content {
		t.Errorf("the answer with a stop is %q, want %q", s.Stopped, want)
	}
	if want := "foo, logprobs"; s.Tolerated != s.Plain.Content || s.Ignored != want {
		t.Errorf("an answer without %q is %q, want %q without %s", s.Ignored, s.Tolerated, s.Plain.Content, want)
	}

	var sum [3]int
	for _, u := range s.Agents {
		for i := range sum {
			sum[i] += u[i]
		}
	}
	if len(s.Agents) != 4 || sum != s.Plain.Usage || sum[2] == 0 {
		t.Errorf("the usage of agents %v adds up to %v, want 4 with %v", s.Agents, sum, s.Plain.Usage)
	}
	q.wantRefused(t, s)
}

func (q asked) wantRefused(t *testing.T, s said) {
	t.Helper()
	for name, want := range map[string]struct {
		status               int
		code, param, message string
	}{
		"model":         {404, "model_not_found", "model", `this server has "kill"`},
		"other model":   {404, "model_not_found", "model", `this server has "kill"`},
		"n":             {400, "", "n", "expected 1"},
		"n of a stream": {400, "", "n", "expected 1"},
		"tool":          {400, "", "tool_choice", "expected none or auto"},
		"message":       {400, "", "messages", "expected a text or a list of parts"},
		"key":           {401, "invalid_api_key", "", "bearer token"},
	} {
		got := s.Refused[name]
		if got == nil {
			t.Errorf("%s is answered, want a refusal with %d", name, want.status)
			continue
		}
		if got.Status != want.status || got.Code != want.code || got.Param != want.param ||
			got.Type != "invalid_request_error" || !strings.Contains(got.Message, want.message) {
			t.Errorf("%s is refused with %+v, want %+v", name, *got, want)
		}
	}
}
