package update_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/activities/training"
	"github.com/collabui/collabui/activities/update"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/policy/gateway"
	"github.com/collabui/collabui/internal/policy/llm"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/test/kit/fakeengine"
	"github.com/collabui/collabui/workers/catalog"
)

const (
	click     = `Reason: r Action: {"action_type":"click","index":1}`
	longPress = `Reason: r Action: {"action_type":"long_press","index":1}`
	doubleTap = `Reason: r Action: {"action_type":"double_tap","index":1}`
)

// says are the log-probabilities of answers under the adapters of a test, which are named by their weights, and under
// the engine's own model. The parent has learned for two epochs: it is far from the base.
var says = map[string]map[string]float64{
	"base":    {click: -4, longPress: -4, doubleTap: -1},
	"parent":  {click: -1.2, longPress: -1.5, doubleTap: -30},
	"another": {click: -1, longPress: -1.4, doubleTap: -36},
	"forgets": {click: -5, longPress: -1.4, doubleTap: -36},
	"narrow":  {click: -0.1, longPress: -4.5, doubleTap: -36},
}

// weights returns the weights of an adapter's folder.
func weights(dir string) string {
	if dir == "" {
		return "base"
	}
	raw, err := os.ReadFile(filepath.Join(dir, "adapter_model.safetensors"))
	if err != nil {
		return err.Error()
	}

	return string(raw)
}

// clicks answers every chat with a click.
func clicks(string, []byte) (int, []byte) {
	body, _ := json.Marshal(map[string]any{"choices": []any{map[string]any{ // plain values always marshal
		"message": map[string]any{"role": "assistant", "content": click},
	}}})

	return http.StatusOK, body
}

// adapters is an engine behind a gateway, and a store of adapters.
type adapters struct {
	bucket store.Bucket
	pool   *llm.Pool
}

func serveAdapters(t *testing.T, engine *fakeengine.Engine) adapters {
	t.Helper()
	b := &store.Memory{}
	srv := httptest.NewServer(engine)
	t.Cleanup(srv.Close)
	g, err := gateway.New(gateway.Options{
		Bucket: b, Engine: "vllm", Server: srv.URL, Adapters: t.TempDir(), Keep: 4,
	})
	if err != nil {
		t.Fatal(err)
	}
	gate := httptest.NewServer(g)
	t.Cleanup(gate.Close)
	pool, err := llm.PolicyServers([]string{gate.URL + "/v1"}, llm.Config{Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}

	return adapters{bucket: b, pool: pool}
}

// put stores the policy with some weights, and returns its digest.
func (a adapters) put(t *testing.T, weights string) string {
	t.Helper()
	model := domain.BaseModel{Name: "m", Digest: strings.Repeat("a", 64)}
	art := domain.Artifact{Kind: domain.ArtifactBase, Base: model}
	if weights != "base" {
		art.Kind, art.Rank = domain.ArtifactLoRA, 8
		for path, body := range map[string]string{
			"adapter_config.json": `{"r":8}`, "adapter_model.safetensors": weights,
		} {
			ref, err := store.PutBlob(t.Context(), a.bucket, []byte(body))
			if err != nil {
				t.Fatal(err)
			}
			art.Files = append(art.Files, domain.ArtifactFile{
				Path: path, Key: ref.Key, SHA256: ref.SHA256, Size: ref.Size,
			})
		}
	}
	body, _ := art.Encode()
	ref, err := store.PutBlob(t.Context(), a.bucket, body)
	if err != nil {
		t.Fatal(err)
	}

	return ref.SHA256
}

// update probes an update from parent to the policy with some weights, in epoch 3.
func (a adapters) update(t *testing.T, trainer, weights string) runs.Update {
	t.Helper()
	s := spec.Default()
	s.Trainer.Name, s.Gates.Probe = trainer, 16
	var pairs []domain.Example
	for i := range 100 {
		p := domain.Example{Prompt: fmt.Sprint("p", i), Chosen: click, Rejected: doubleTap,
			Source: domain.SourceAdversary}
		if i%20 == 0 {
			p.Chosen, p.Source = longPress, domain.SourceCorrection
		}
		pairs = append(pairs, p)
	}

	gpu := &update.GPU{
		Common: activities.Common{Bucket: a.bucket, Catalog: catalog.All{}},
		Jobs:   &training.Jobs{Load: a.pool.Load}, Policies: a.pool, Scores: a.pool,
	}
	u := runs.Update{
		Parent: runs.Policy{Digest: a.put(t, "parent")},
		Policy: runs.Policy{Digest: a.put(t, weights)},
		// The last batch's reward of the chosen answers, against the reference.
		Report: &domain.TrainReport{Metrics: map[string]float64{"rewards/chosen": -0.5, "rewards/margins": 4}},
	}
	u, err := gpu.Gate(t.Context(), s, update.AgentID{Run: "r", Epoch: 3}, u, pairs, a.put(t, "base"))
	if err != nil {
		t.Fatal(err)
	}

	return u
}

func TestTheGatesCompareWithTheParentForEveryTrainer(t *testing.T) {
	a := serveAdapters(t, &fakeengine.Engine{
		Answer:  clicks,
		LogProb: func(dir, _, _, answer string) float64 { return says[weights(dir)][answer] },
	})
	for weights, want := range map[string]string{
		"another": "",
		"forgets": "chosen answers changed by",
		"narrow":  "long_press vanished: it is 5 % of the chosen answers, none of 5 sampled ones",
	} {
		trainers := []string{"llamafactory"}
		if want == "" { // what the gates read does not depend on the trainer
			trainers = []string{spec.Embedded, "llamafactory", "trl"}
		}
		for _, trainer := range trainers {
			t.Run(trainer+" "+weights, func(t *testing.T) {
				u := a.update(t, trainer, weights)
				if !strings.Contains(u.Kept, want) || (u.Kept == "") != (want == "") {
					t.Errorf("the parent is kept because %q, want %q", u.Kept, want)
				}
				if kl := says[weights][click] - says["parent"][click]; math.Abs(u.Probe.KL-kl) > 1e-9 {
					t.Errorf("KL = %v, want %v", u.Probe.KL, kl)
				}
				p := u.Probe.Rejected
				if math.Abs(p.Policy+36) > 1e-9 || math.Abs(p.Parent+30) > 1e-9 || math.Abs(p.Base+1) > 1e-9 {
					t.Errorf("log π of rejected answers = %+v, want −36, −30 and −1", p)
				}
			})
		}
	}
}

func TestAnEngineThatCannotScoreLeavesTheFiguresUnknown(t *testing.T) {
	a := serveAdapters(t, &fakeengine.Engine{Answer: clicks})
	u := a.update(t, "llamafactory", "forgets")
	if u.Kept != "" || !strings.Contains(u.Probe.Unknown, "no /tokenize") || u.Probe.ParseRate < 0.99 {
		t.Errorf("kept %q, probe %+v; want an update that passes, and why its log-probabilities are unknown",
			u.Kept, u.Probe)
	}
}
