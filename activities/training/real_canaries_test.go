package training_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/activities/training"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/policy/gateway"
	"github.com/collabui/collabui/internal/policy/llm"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/trainer"
	"github.com/collabui/collabui/trainer/external"
	"github.com/collabui/collabui/trainer/llamafactory"
)

// testdata of other packages and scripts.
const (
	makeModel  = "../../scripts/make_model.py"
	adaptersPy = "../../internal/policy/gateway/testdata/adapters.py"
)

// production is a real vLLM behind a gateway, and a real LLaMA-Factory that scores.
type production struct {
	t        *testing.T
	python   string
	model    string // folder of the base model
	adapters string // folder of adapters, numbered
	engine   string // address
	process  *exec.Cmd
	jobs     *training.Jobs
	spec     spec.Spec
	digests  []string
}

// TestRealCanaries publishes a policy to a real vLLM and plants faults into what it serves: no fault may pass, and the
// sound policy must. `make test-production` runs it.
func TestRealCanaries(t *testing.T) {
	if os.Getenv("COLLABUI_VLLM") == "" || os.Getenv("COLLABUI_LLAMAFACTORY") == "" {
		t.Skip("set COLLABUI_VLLM and COLLABUI_LLAMAFACTORY, or run `make test-production`")
	}
	p := newProduction(t)
	p.start()
	policy := p.digests[0]
	trained := training.Trained{Policy: policy, System: "You operate a user interface.", Pairs: realPairs(), Seed: 3}
	canaries, _, err := p.jobs.Canaries(t.Context(), p.spec, trained)
	if err != nil || canaries.Unknown != "" || len(canaries.Rows) != 2*p.spec.Serving.Canaries {
		t.Fatalf("canaries = %+v, %v; want both answers of %d rows", canaries, err, p.spec.Serving.Canaries)
	}
	publish := func() (domain.Gap, error) {
		return p.jobs.PublishChecked(t.Context(), p.spec, training.Published{Epoch: 1}, policy, canaries)
	}
	sound := func(when string) {
		t.Helper()
		gap, err := publish()
		if err != nil || gap.Answers != len(canaries.Rows) || gap.Unknown != "" {
			t.Fatalf("%s: %+v, %v; want no gap", when, gap, err)
		}
		t.Logf("%s: log π differs by %.2g nats per token on average, by %.2g at most; the limit is %g", when,
			gap.Mean, gap.Worst, gap.Limit)
	}
	found := func(planted, want string) {
		t.Helper()
		gap, err := publish()
		if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), policy) || !strings.Contains(err.Error(), "http://") {
			t.Errorf("%s: %+v, %v; want an invalid fault with %q that names policy and server", planted, gap, err, want)
		}
		t.Logf("%s: %v", planted, err)
	}

	sound("the policy as it was saved")
	for _, how := range []string{"zeroed-a", "missing-layer", "wrong-scale"} {
		dir := filepath.Join(t.TempDir(), how)
		p.run(adaptersPy, "plant", p.folder(0), dir, how)
		p.put(policy, dir)
		found(how, "is not what was trained")
	}
	p.put(policy, p.folder(1))
	found("swapped adapters", "is not what was trained")
	p.put(policy, p.folder(0))
	sound("the policy again")

	other := filepath.Join(t.TempDir(), "other")
	p.run(adaptersPy, "disguise", p.model, other)
	for name, args := range map[string][]string{
		"another tokenizer":     {"--tokenizer", other},
		"another chat template": {"--chat-template", filepath.Join(other, "chat_template.jinja")},
	} {
		p.stop()
		p.start(args...)
		found(name, "reads other tokens than the trainer")
	}
}

// realPairs returns the pairs of a data set.
func realPairs() (out []domain.Example) {
	for i := range 20 {
		out = append(out, domain.Example{
			Prompt: fmt.Sprintf("Goal: click the button %d\nScreen: Button, Link, Text", i),
			Chosen: fmt.Sprintf("Reason: It helps.\nAction: click %d", i), Rejected: "Action: Scroll down",
		})
	}

	return out
}

func newProduction(t *testing.T) *production {
	t.Helper()
	dir := t.TempDir()
	program := os.Getenv("COLLABUI_LLAMAFACTORY")
	p := &production{
		t: t, python: filepath.Join(filepath.Dir(program), "python"), model: filepath.Join(dir, "qwen2"),
		adapters: filepath.Join(dir, "adapters"), spec: spec.Default(),
	}
	p.run(makeModel, p.model, "--shape", "small")
	p.run(adaptersPy, "make", p.model, p.adapters, "2", "4")

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.engine = listener.Addr().String()
	_ = listener.Close()
	bucket := &store.Memory{}
	base, err := external.ModelOf(p.model)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		files := map[string]string{}
		for _, name := range []string{"adapter_config.json", "adapter_model.safetensors"} {
			files[name] = filepath.Join(p.folder(i), name)
		}
		artifact := domain.Artifact{Kind: domain.ArtifactLoRA, Base: base, Rank: 4}
		_, digest, err := external.PutArtifact(t.Context(), bucket, artifact, files)
		if err != nil {
			t.Fatal(err)
		}
		p.digests = append(p.digests, digest)
	}

	gate, err := gateway.New(gateway.Options{
		Bucket: bucket, Engine: "vllm", Server: "http://" + p.engine, Adapters: filepath.Join(dir, "served"), Keep: 2,
		Model: &base,
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(gate)
	t.Cleanup(server.Close)
	pool, err := llm.PolicyServers([]string{server.URL + "/v1"}, llm.Config{Timeout: 3 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}

	options := llamafactory.DefaultOptions()
	options.Model, options.Precision, options.Devices, options.Rank = p.model, "fp32", 0, 4
	p.spec.Trainer.Name = "llamafactory"
	if p.spec.Trainer.Options, err = json.Marshal(options); err != nil {
		t.Fatal(err)
	}
	own := &external.Trainer{
		Host: external.Host{Bucket: bucket, Work: t.TempDir()}, Tool: &llamafactory.Tool{Program: program},
	}
	p.jobs = &training.Jobs{
		Common:   activities.Common{Bucket: bucket},
		Trainers: map[string]trainer.Trainer{"llamafactory": own}, Load: pool.Load,
	}
	for _, s := range pool.Servers() {
		p.jobs.Servers = append(p.jobs.Servers, training.Server{Name: s.URL, Scorer: s})
	}

	return p
}

func (p *production) folder(i int) string { return filepath.Join(p.adapters, fmt.Sprint(i)) }

// run runs a script with the trainer's libraries.
func (p *production) run(args ...string) {
	p.t.Helper()
	cmd := exec.Command(p.python, args...)
	cmd.Env = append(os.Environ(), "CUDA_VISIBLE_DEVICES=")
	if out, err := cmd.CombinedOutput(); err != nil {
		p.t.Fatalf("%v: %v, want success\n%s", args, err, out)
	}
}

// start starts vLLM with further arguments and waits until it answers.
func (p *production) start(further ...string) {
	p.t.Helper()
	host, port, _ := net.SplitHostPort(p.engine)
	args := append([]string{
		"serve", p.model, "--served-model-name", "base", "--enable-lora", "--max-loras", "2", "--max-cpu-loras", "2",
		"--max-lora-rank", "8", "--generation-config", "vllm", "--logprobs-mode", "processed_logprobs", "--dtype",
		"float32", "--max-model-len", "1024", "--enforce-eager", "--host", host, "--port", port,
	}, further...)
	var said bytes.Buffer
	p.process = exec.Command(os.Getenv("COLLABUI_VLLM"), args...)
	p.process.Env = append(os.Environ(), "VLLM_ALLOW_RUNTIME_LORA_UPDATING=True", "VLLM_NO_USAGE_STATS=1",
		"VLLM_CPU_KVCACHE_SPACE=1", "CUDA_VISIBLE_DEVICES=", "HF_HUB_OFFLINE=1")
	p.process.Stdout, p.process.Stderr = &said, &said
	p.process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := p.process.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(p.stop)
	for limit := time.Now().Add(10 * time.Minute); ; time.Sleep(time.Second) {
		r, err := http.Get("http://" + p.engine + "/health")
		if err == nil {
			_ = r.Body.Close()
			if r.StatusCode == http.StatusOK {
				return
			}
		}
		if time.Now().After(limit) {
			p.stop()
			p.t.Fatalf("vLLM has not answered for ten minutes, want an answer\n%s", said.String())
		}
	}
}

// stop kills vLLM and its children.
func (p *production) stop() {
	_ = syscall.Kill(-p.process.Process.Pid, syscall.SIGKILL)
	_ = p.process.Wait()
}

// put makes vLLM serve a folder under the name that the gateway gave a policy.
func (p *production) put(policy, dir string) {
	p.t.Helper()
	name := "p-" + policy[:16]
	for _, call := range []struct {
		path string
		body map[string]string
	}{
		{"/v1/unload_lora_adapter", map[string]string{"lora_name": name}},
		{"/v1/load_lora_adapter", map[string]string{"lora_name": name, "lora_path": dir}},
	} {
		body, err := json.Marshal(call.body)
		if err != nil {
			p.t.Fatal(err)
		}
		r, err := http.Post("http://"+p.engine+call.path, "application/json", bytes.NewReader(body))
		if err != nil {
			p.t.Fatal(err)
		}
		_ = r.Body.Close()
		if r.StatusCode != http.StatusOK {
			p.t.Fatalf("%s of %s is answered %d, want 200", call.path, dir, r.StatusCode)
		}
	}
}
