package workflows_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/care/verify"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/policy/gateway"
	"github.com/collabui/collabui/internal/policy/infer"
	"github.com/collabui/collabui/internal/policy/llm"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/test/kit/standin"
	"github.com/collabui/collabui/test/kit/testrun"
	"github.com/collabui/collabui/trainer/external"
	"github.com/collabui/collabui/trainer/llamafactory"
	"github.com/collabui/collabui/workers/catalog"
)

// TestMain is the stand-in for llamafactory-cli where a test starts it. It dies once per job, at step 3.
func TestMain(m *testing.M) {
	standin.Main()
	if err := os.Setenv(standin.Variable, "kill@3"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// TestARunOfAdapters plays a run whose policies are adapters: trained by a stand-in for llamafactory-cli, served by two
// stand-ins for engines, each behind a gateway. One engine loses its adapters at every update, the other shares its GPU
// with the updates and sleeps meanwhile. Training is killed now and then.
func TestARunOfAdapters(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, model := adapterSpec(t, dir)
	r := testrun.New(t, s)
	unreliable, sharing := standin.Engine(model), standin.Engine(model)
	share := serveAdapters(t, r, dir, model, unreliable, sharing)
	trainAdapters(t, r, dir, share, unreliable.Restart)

	end, err := r.Play(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(end.Results) == 0 || end.FinalDigest == "" {
		t.Errorf("the run ended with %+v, want results and a digest", end)
	}

	trained := wantAdapters(t, r)
	if slept, woken := sharing.Calls("/sleep"), sharing.Calls("/wake_up"); slept < trained || woken < trained {
		t.Errorf("the engine on the same GPU slept %d times and woke %d times, want %d or more", slept, woken, trained)
	}
	if sharing.Asleep() {
		t.Error("the engine on the same GPU is asleep, want it awake")
	}
	wantExport(t, r, filepath.Join(dir, "export"))

	report, err := verify.Fsck(t.Context(), r.Bucket)
	if err != nil || len(report.Problems) > 0 {
		t.Errorf("fsck found %v, %v; want no problems", report.Problems, err)
	}
}

// adapterSpec returns the specification of a run of adapters, and the folder of their base model.
func adapterSpec(t *testing.T, dir string) (s spec.Spec, model string) {
	t.Helper()
	o := llamafactory.DefaultOptions()
	o.Model, o.PerDevice, o.SaveSteps = filepath.Join(dir, "base-model"), 4, 2
	if err := standin.MakeModel(o.Model, 3); err != nil {
		t.Fatal(err)
	}
	options, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}

	s = testrun.Small()
	s.Slots, s.Agents, s.Decoding.Temperatures = 6, 2, []float64{0.5}
	s.FineTune.MaxChunks, s.FineTune.StopLow, s.FineTune.StopHigh = 2, 0.9, 1
	s.Evaluation.TestTemplates = 0
	s.Trainer.Name, s.Trainer.Options, s.Serving.Quorum = "llamafactory", options, 2
	if err := s.Validate(catalog.All{}); err != nil {
		t.Fatal(err)
	}

	return s, o.Model
}

// serveAdapters serves the run's policies by engines, each behind a gateway. It returns the address of the last
// gateway.
func serveAdapters(t *testing.T, r *testrun.Run, dir, model string, engines ...http.Handler) string {
	t.Helper()
	digest, err := external.ModelDigest(model)
	if err != nil {
		t.Fatal(err)
	}

	var last string
	var urls []string
	for i, engine := range engines {
		srv := httptest.NewServer(engine)
		t.Cleanup(srv.Close)
		g, err := gateway.New(gateway.Options{
			Bucket:   r.Bucket,
			Engine:   "vllm",
			Server:   srv.URL,
			Adapters: filepath.Join(dir, "adapters", fmt.Sprint(i)),
			Keep:     4,
			Model:    &domain.BaseModel{Name: "base-model", Digest: digest},
		})
		if err != nil {
			t.Fatal(err)
		}
		go g.Run(t.Context())
		gate := httptest.NewServer(g)
		t.Cleanup(gate.Close)
		last, urls = gate.URL, append(urls, gate.URL+"/v1")
	}

	pool, err := llm.PolicyServers(urls, llm.Config{Timeout: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	r.Deps.Chat, r.Deps.Scores, r.Deps.Load = pool, pool, pool.Load

	return last
}

// trainAdapters trains the run's policies by the stand-in for llamafactory-cli, which shares its GPU with the gateway
// at an address. job is called at the start of every job.
func trainAdapters(t *testing.T, r *testrun.Run, dir, share string, job func()) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := standin.Program(dir, self)
	if err != nil {
		t.Fatal(err)
	}

	r.Deps.Trainers = catalog.OpenTrainers(catalog.Host{LlamaFactory: program, Host: external.Host{
		Bucket:  r.Bucket,
		Work:    filepath.Join(dir, "work"),
		Look:    50 * time.Millisecond,
		Devices: external.NewDevices([]string{"0"}),
		Share:   &external.Share{URL: share},
		Checkpoints: func(name string) string {
			job()
			return strings.TrimSuffix(name, ".json") + "-checkpoint-"
		},
	}})
}

// wantAdapters checks the updates of a run and returns how many agents were trained.
func wantAdapters(t *testing.T, r *testrun.Run) (trained int) {
	t.Helper()
	run := runs.Run(r.Spec.Name)
	base := read(t, r, run.Base())
	for epoch := 1; epoch <= r.Spec.Epochs; epoch++ {
		for a := range r.Spec.Agents {
			u := read(t, r, run.Update(epoch, a))
			if u.Kept != "" {
				continue
			}
			trained++
			name := fmt.Sprintf("the update of agent %d in epoch %d", a, epoch)
			if u.Policy == base.Policy || len(u.Curve) != u.Steps {
				t.Errorf("%s = %+v, want another policy than the base and a curve of all steps", name, u)
			}
			if p := u.Probe; p.Unknown != "" || p.ParseRate == 0 || p.Entropy <= 0 || p.Chosen == (domain.LogProbs{}) {
				t.Errorf("the probe of %s = %+v, want answers that parse, and log-probabilities", name, p)
			}
			if u.Report == nil {
				t.Errorf("%s has no report, want that of the program", name)
				continue
			}
			if len(u.Report.Files) != 2 || !slices.Contains(u.Report.Command, "train") || u.Report.Log == nil {
				t.Errorf("the report of %s = %+v, want two files, the command and the log", name, u.Report)
			}
			if u.Report.Metrics["rewards/margins"] == 0 {
				t.Errorf("the metrics of %s = %v, want rewards/margins", name, u.Report.Metrics)
			}
		}
	}
	if trained == 0 {
		t.Error("no agent was ever trained, want some")
	}

	return trained
}

// wantExport checks what is exported of epoch 1.
func wantExport(t *testing.T, r *testrun.Run, dir string) {
	t.Helper()
	sys, err := infer.Find(t.Context(), r.Bucket, r.Spec.Name, "1")
	if err != nil {
		t.Fatal(err)
	}
	out, err := sys.Write(t.Context(), r.Bucket, dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := out.Agents[0].Kind; got != domain.ArtifactLoRA {
		t.Errorf("the first agent is exported as %s, want %s", got, domain.ArtifactLoRA)
	}
	if out.Agents[0].Trained == nil && out.Agents[1].Trained == nil {
		t.Errorf("the exported agents = %+v, want one that was trained", out.Agents)
	}

	readme := infer.Readme(r.Spec.Name, &out)
	if want := "export --model_name_or_path PATH-OF-" + out.Agents[0].Base.Name; !strings.Contains(readme, want) {
		t.Errorf("the README of the export is\n%s\nwant %q in it, which merges an adapter", readme, want)
	}
}
