//go:build integration

package integration

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/collabui/collabui/envadapters/openenv"
	"github.com/collabui/collabui/envadapters/scripted"
)

// TestWhatCannotEndIsNotStarted tries to start runs and an experiment that could not end. Each is refused without
// waiting for what is missing, with advice, and its name stays free.
func TestWhatCannotEndIsNotStarted(t *testing.T) {
	t.Parallel()
	m := newMachine(t, specification)
	m.must("up")
	write := func(name, more string) string { return m.write(name, specification+more) }
	const judge = "\nmodels: {judge: {base_url: 'http://127.0.0.1:9/v1', model: j%s}}\ncritic: {model: judge}\n"
	const elsewhere = ", out_of_distribution: [{environment: webtasks, split: nosuch, episodes: 3}]}"
	const mapped = "\nenvironment: gym\nenvironments: {gym: {suite: openenv, servers: ['%s'], mapping: " +
		"{elements: elements, tasks: [a, b], action: '{\"a\": %s}'}}}\n"
	short := httptest.NewServer(probed{window: 60})
	t.Cleanup(short.Close)
	handler, err := openenv.Handler(&scripted.Suite{Length: 2})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	address := "ws" + strings.TrimPrefix(server.URL, "http") + "/ws"
	key, dead := fmt.Sprintf(judge, ", key: SOME_API_KEY"), fmt.Sprintf(judge, "")
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"a key": {
			[]string{"train", write("key.yaml", key)},
			[]string{"models.judge", "SOME_API_KEY=VALUE", filepath.Join(m.data, "keys.env"), "without a restart"},
		},
		"a model of stage 1": {
			[]string{"train", write("dead.yaml", dead), "--until", "stage-1"},
			[]string{"connection refused", "start its server"},
		},
		"a model of a pilot": {
			[]string{"plan", write("planned.yaml", dead)}, []string{"connection refused", "start its server"},
		},
		"a server": {
			[]string{"train", write("away.yaml",
				"\nenvironment: shop\nenvironments: {shop: {suite: openenv, servers: ['ws://127.0.0.1:9/ws']}}\n")},
			[]string{"environment: ", "collabui envs serve NAME"},
		},
		"a key of an experiment": {
			[]string{"experiment", m.write("losses.yaml", strings.Replace(comparison, "kill.yaml", "key.yaml", 1))},
			[]string{"models.judge", "SOME_API_KEY"},
		},
		"a short context": {
			[]string{"train", write("short.yaml", strings.Replace(dead, "http://127.0.0.1:9", short.URL, 1))},
			[]string{"models.judge", "the server takes 60 in all", "--max-model-len"},
		},
		"a split": {
			[]string{"train", m.write("split.yaml", strings.TrimSuffix(specification, "}\n")+elsewhere)},
			[]string{`webtasks has no split "nosuch"; it has train`},
		},
		"a quorum": {
			[]string{"train", write("quorum.yaml", "\nserving: {quorum: 5}\n")},
			[]string{"serving.quorum", "1 of 1 policy servers", "a lower serving.quorum"},
		},
		"an expert": {
			[]string{"train", write("expert.yaml", fmt.Sprintf(mapped, address, "{{json .ID}}"))},
			[]string{"synthesis.agent: ", "credit: outcome", "finetune.base"},
		},
		"a template": {
			[]string{"train", write("template.yaml", fmt.Sprintf(mapped, address, "{{.Nope}}"))},
			[]string{"environment: ", "cannot be sent", "can't evaluate field Nope"},
		},
		"a trainer": {
			[]string{"train", write("gpu.yaml", "\ntrainer: {name: llamafactory, options: {model: /nowhere}}\n")},
			[]string{"trainer: ", "/nowhere", "llamafactory-cli"},
		},
	} {
		began := time.Now()
		out, err := m.try(c.args...)
		if err == nil {
			t.Errorf("%s: it was started, want it refused", name)
		}
		m.contains(out, err, append(c.want, "was not started, and nothing was recorded"), c.args)
		if took := time.Since(began); took > time.Minute {
			t.Errorf("%s: refused after %s, want less than a minute, beside other tests", name, took)
		}
	}
	if n := m.count("/runs/"); n > 0 {
		t.Errorf("%d objects of runs are left, want none: %v", n, m.objects("/runs/"))
	}
	m.must("train", write("key.yaml", key+"budget: {money: 1}\n"), "--check")
	m.must("train", m.spec, "--detach") // under the same name
}

// probed is a chat endpoint that answers only the trials of a critic and of an agent.
type probed struct{ window int }

func (p probed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	switch {
	case strings.HasSuffix(r.URL.Path, "/models"):
		_, _ = fmt.Fprintf(w, `{"data": [{"id": "j", "max_model_len": %d}]}`, p.window)
	case trial(string(raw)):
		_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"message": map[string]string{
			"content": "Action: {\"action_type\":\"click\",\"index\":1} " +
				`{"grades":[{"cell":"0.0","reason":"r","score":1},{"cell":"1.0","reason":"r","score":0}]}`,
		}}}})
	default:
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}
