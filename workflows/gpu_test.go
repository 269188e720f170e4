package workflows_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/policy/gateway"
	"github.com/collabui/collabui/internal/policy/infer"
	"github.com/collabui/collabui/internal/policy/llm"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/internal/store/verify"
	"github.com/collabui/collabui/test/kit/standin"
	"github.com/collabui/collabui/test/kit/testrun"
	"github.com/collabui/collabui/trainer/external"
	"github.com/collabui/collabui/trainer/llamafactory"
	"github.com/collabui/collabui/workers/catalog"
)

func TestMain(m *testing.M) {
	standin.Main()
	os.Exit(m.Run())
}

// TestARunOfAdapters plays a run whose policies are adapters: trained by a llamafactory-cli that is a stand-in, served
// by two servers that are stand-ins, each behind a gateway; one server loses its adapters at every update, the other
// shares its GPU with the updates and sleeps meanwhile, training is killed now and then.
func TestARunOfAdapters(t *testing.T) {
	s := testrun.Small()
	s.Slots, s.Agents, s.Decoding.Temperatures, s.FineTune.MaxChunks, s.FineTune.StopLow, s.FineTune.StopHigh, s.Evaluation.TestTemplates = 6, 2, []float64{0.5}, 2, 0.9, 1, 0
	s.Trainer.Name, s.Serving.Quorum = "llamafactory", 2
	dir := t.TempDir()
	o := llamafactory.DefaultOptions()
	o.Model, o.PerDevice, o.SaveSteps = filepath.Join(dir, "base-model"), 4, 2
	if err := standin.MakeModel(o.Model, 3); err != nil {
		t.Fatal(err)
	}
	options, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Trainer.Options = options
	if err := s.Validate(catalog.All{}); err != nil {
		t.Fatal(err)
	}
	r := testrun.New(t, s)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := standin.Program(dir, self)
	if err != nil {
		t.Fatal(err)
	}
	digest, err := external.ModelDigest(o.Model)
	if err != nil {
		t.Fatal(err)
	}
	var urls []string
	unreliable := standin.Engine(o.Model)
	sharing := standin.Engine(o.Model) // the GPU with the updates
	for i, engine := range []http.Handler{unreliable, sharing} {
		srv := httptest.NewServer(engine)
		t.Cleanup(srv.Close)
		g, err := gateway.New(gateway.Options{Bucket: r.Bucket, Engine: "vllm", Server: srv.URL, Adapters: filepath.Join(dir, "adapters", string(rune('a'+i))), Keep: 4, Model: &domain.BaseModel{Name: "base-model", Digest: digest}})
		if err != nil {
			t.Fatal(err)
		}
		go g.Run(t.Context())
		gate := httptest.NewServer(g)
		t.Cleanup(gate.Close)
		urls = append(urls, gate.URL+"/v1")
	}
	pool, err := llm.PolicyServers(urls, "", 30*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	r.Deps.Chat, r.Deps.Load = pool, pool.Load
	h := catalog.Host{LlamaFactory: program, Host: external.Host{Bucket: r.Bucket, Work: filepath.Join(dir, "work"), Look: 50 * time.Millisecond, Devices: external.NewDevices([]string{"0"}), Share: &external.Share{URL: strings.TrimSuffix(urls[1], "/v1")}, Checkpoints: func(job string) string {
		unreliable.Restart()
		return strings.TrimSuffix(job, ".json") + "-checkpoint-"
	}}}
	r.Deps.Trainers = catalog.OpenTrainers(h)
	t.Setenv(standin.Variable, "kill@3") // of every job, once
	end, err := r.Play(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(end.Results) == 0 || end.FinalDigest == "" {
		t.Errorf("%+v", end)
	}
	base, _, err := runs.Run(s.Name).Base().Read(t.Context(), r.Bucket)
	if err != nil {
		t.Fatal(err)
	}
	trained := 0
	for epoch := 1; epoch <= s.Epochs; epoch++ {
		for a := range s.Agents {
			u, _, err := runs.Run(s.Name).Update(epoch, a).Read(t.Context(), r.Bucket)
			if err != nil {
				t.Fatal(err)
			}
			if u.Kept != "" {
				continue
			}
			trained++
			if u.Report == nil || len(u.Report.Files) != 2 || !slices.Contains(u.Report.Command, "train") || u.Report.Log == nil || u.Report.Metrics["rewards/margins"] == 0 || !u.Probe.Served || u.Probe.ParseRate == 0 || u.Probe.Entropy <= 0 || u.Policy == base.Policy || len(u.Curve) != u.Steps {
				t.Errorf("epoch %d, agent %d: %+v", epoch, a, u)
			}
		}
	}
	if trained == 0 {
		t.Error("no agent was ever trained")
	}
	if sharing.Calls("/sleep") < trained || sharing.Calls("/wake_up") < trained || sharing.Asleep() {
		t.Errorf("%d updates: the server on the same GPU slept %d times and was woken %d times, asleep: %v", trained, sharing.Calls("/sleep"), sharing.Calls("/wake_up"), sharing.Asleep())
	}
	sys, err := infer.Find(t.Context(), r.Bucket, s.Name, "1")
	if err != nil {
		t.Fatal(err)
	}
	out, err := sys.Write(t.Context(), r.Bucket, filepath.Join(dir, "export"))
	if err != nil || out.Agents[0].Kind != domain.ArtifactLoRA || out.Agents[0].Trained == nil && out.Agents[1].Trained == nil {
		t.Errorf("%+v %v", out.Agents, err)
	}
	if raw, err := os.ReadFile(filepath.Join(dir, "export", "merge-agent-0.yaml")); err != nil || !strings.Contains(string(raw), o.Model) {
		t.Errorf("the recipe to merge: %s %v", raw, err)
	}
	if report, err := verify.Fsck(t.Context(), r.Bucket); err != nil || len(report.Problems) > 0 {
		t.Errorf("%+v %v", report.Problems, err)
	}
}
