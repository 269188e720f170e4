//go:build integration

package integration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/collabui/collabui/envadapters/openenv"
	"github.com/collabui/collabui/envadapters/scripted"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// wholeModel is stage 1 of a model with random weights: all its parameters are trained.
const wholeModel = `name: first
environment: mine
environments:
  mine: {suite: openenv, servers: ["ws://%s/ws"], places: 4}
epochs: 1
slots: 4
agents: 2
parameters: shared
decoding: {temperatures: [0.5]} # temperature
finetune:
  demonstrations: 80
  message_share: 0
  chunk_steps: %d
  max_chunks: 1
  stop_low: 0.1
  train: {learning_rate: 3.0e-3, final_share: 0.05, batch_size: 8, passes: 12}
evaluation: {val: 2, test_seeds: 0, test_templates: 0, test_apps: 0}
trainer:
  name: llamafactory
  options: {model: %s, finetuning: full, devices: 0, per_device: 8, save_steps: 40, precision: fp32, cutoff: 2048}
`

// adaptersOfIt trains one adapter per agent on the result of stage 1.
const adaptersOfIt = `name: kill
environment: mine
environments:
  mine: {suite: openenv, servers: ["ws://%s/ws"], places: 4}
epochs: 2
slots: 32
agents: 2
rounds: 2
decoding: {temperatures: [0.5], top_p: 1} # temperature; log-probabilities are those before a nucleus is cut out
finetune: {base: model}
pairs: {kind: +correction, min_pairs: 4}
train: {learning_rate: 1.0e-3, batch_size: 4, passes: 2, beta: 0.1, ftx: 1}
gates: {min_parse: 0, max_val_drop: 1} # at temperature 1 many answers of so small a model are no JSON
evaluation: {val: 2, test_seeds: 2, test_templates: 0, test_apps: 0}
trainer:
  name: llamafactory
  options: {model: %s, devices: 0, per_device: 4, save_steps: 2, precision: fp32, cutoff: 2048, rank: 4}
`

// apart bounds the difference of log-probabilities between a rollout and the trainer's libraries, per token in float32.
const apart = 1e-3

// production is a cluster with a real vLLM and a real LLaMA-Factory, on the CPU.
type production struct {
	*cluster
	vllm, program string
	model         string // the folder that vLLM serves
	name          string // its name, besides base
	engine, gate  string // addresses
	pages         string // address of the environment
}

// TestTheProductionRow trains a Qwen2 of a million parameters and random weights as a team would train a large one:
// stage 1 on all parameters by LLaMA-Factory, rollouts by a gateway and vLLM, one adapter per agent by DPO, loaded at
// run time. The tasks are buttons to be tapped in order, which a model of this size learns in minutes. vLLM, gateway,
// LLaMA-Factory, GPU worker and rollout worker are killed meanwhile. The trainer's libraries score every recorded
// answer again with the adapter of its agent. `make test-production` runs it.
func TestTheProductionRow(t *testing.T) {
	vllm, program := os.Getenv("COLLABUI_VLLM"), os.Getenv("COLLABUI_LLAMAFACTORY")
	if vllm == "" || program == "" {
		t.Skip("set COLLABUI_VLLM and COLLABUI_LLAMAFACTORY, or run `make test-production`")
	}
	h, err := openenv.Handler(&scripted.Suite{Length: 3})
	if err != nil {
		t.Fatal(err)
	}
	pages := httptest.NewServer(h)
	t.Cleanup(pages.Close)
	dir := t.TempDir()
	random, trained := filepath.Join(dir, "random"), filepath.Join(dir, "trained")
	p := &production{cluster: &cluster{machine: newMachine(t, ""), hosts: map[string]*host{}}}
	p.vllm, p.program, p.engine, p.gate = vllm, program, freeAddr(t), freeAddr(t)
	p.pages = strings.TrimPrefix(pages.URL, "http://")
	t.Log(p.python("", "../../scripts/make_model.py", random, "--shape", "small", "--vocabulary", "1000",
		"--corpus", "../../internal/method/prompts/testdata/golden/agent-mobile.txt"))

	p.stage1(random, trained)
	s := p.adapters(trained)
	t.Logf("digest %s", s.FinalDigest)
	p.verify(trained)
}

// begin starts the hosts, the first ones of the cluster, which serve a model.
func (p *production) begin(model, name, specification string) {
	p.t.Helper()
	p.model, p.name = model, name
	p.write(filepath.Base(p.spec), specification)
	p.add("head", p.worker("--roles", "control"))
	p.add("rollout", p.worker("--roles", "rollout,model", "--tabs", "2"))
	p.add("gpu", p.worker("--roles", "gpu", "--gpus", "none", "--updates", "1", "--work", p.file("gpu")))
	p.add("vllm", p.serve)
	p.add("gateway", p.worker("--roles", "serve", "--listen", p.gate, "--server", "http://"+p.engine,
		"--base-model", model, "--keep", "3", "--work", p.file("serve")))
	for _, h := range p.hosts {
		h.up()
	}
	p.answers()
}

// serve starts vLLM with room for three adapters: two agents' adapters, and a new one.
func (p *production) serve() *exec.Cmd {
	host, port, _ := strings.Cut(p.engine, ":")
	names := []string{"base"}
	if p.name != "" {
		names = append(names, p.name)
	}

	return p.process("env", append(append([]string{
		"VLLM_CPU_KVCACHE_SPACE=1", "VLLM_ALLOW_RUNTIME_LORA_UPDATING=True", "HF_HUB_OFFLINE=1",
		"CUDA_VISIBLE_DEVICES=", "VLLM_NO_USAGE_STATS=1",
		p.vllm, "serve", p.model, "--served-model-name",
	}, names...), "--enable-lora", "--max-loras", "3", "--max-cpu-loras", "3", "--max-lora-rank", "8",
		"--generation-config", "vllm", "--logprobs-mode", "processed_logprobs", "--enable-prompt-tokens-details",
		"--dtype", "float32", "--max-model-len", "2048", "--enforce-eager", "--host", host, "--port", port)...)
}

// answers waits until vLLM answers.
func (p *production) answers() {
	p.t.Helper()
	p.poll("vLLM answers", 5*time.Minute, time.Second, func() bool {
		r, err := http.Get("http://" + p.engine + "/health")
		if err != nil {
			return false
		}
		_ = r.Body.Close()

		return r.StatusCode == http.StatusOK
	})
}

// python runs a script with the trainer's libraries.
func (p *production) python(in string, args ...string) string {
	p.t.Helper()
	cmd := exec.Command(filepath.Join(filepath.Dir(p.program), "python"), args...)
	cmd.Env, cmd.Stdin = append(os.Environ(), "CUDA_VISIBLE_DEVICES="), strings.NewReader(in)
	var output bytes.Buffer
	cmd.Stderr = &output
	out, err := cmd.Output()
	if err != nil {
		p.t.Fatalf("%v: %v, want success\n%s", args, err, output.String())
	}

	return strings.TrimSpace(string(out))
}

// stage1 trains all parameters of a model, and writes the result into a folder. vLLM is then started on that folder,
// for which the run waits.
func (p *production) stage1(random, trained string) {
	p.t.Helper()
	p.services(p.gate)
	p.env = append(p.env, "COLLABUI_LLAMAFACTORY="+p.program)
	p.t.Cleanup(p.down)
	const steps = 1000 // more than passes allow: one chunk
	p.begin(random, "", fmt.Sprintf(wholeModel, p.pages, steps, random))
	b := p.store()
	tuned := p.process(binary("collabui"), "train", p.spec, "--until", "stage-1", "--data", p.data)

	p.poll("stage 1 is trained", 30*time.Minute, time.Second, func() bool {
		return p.count("runs/first/finetune/chunks/0001") > 0
	})
	chunk, _, err := runs.Run("first").Chunk(1).Must(p.t.Context(), b)
	if err != nil {
		p.t.Fatal(err)
	}
	digest := chunk.Policy.Digest
	p.must("export", "--policy", digest, "--out", trained)
	p.hosts["vllm"].signal(syscall.SIGKILL)
	p.model, p.name = trained, digest
	p.hosts["vllm"].up()
	p.answers()
	p.must("resume", "first") // as a person does who has started the engine
	if err := tuned.Wait(); err != nil {
		p.t.Fatalf("train --until stage-1: %v, want success", err)
	}
	for _, h := range p.hosts {
		h.signal(syscall.SIGKILL)
	}
}

// store opens the store of the run.
func (p *production) store() store.Bucket {
	p.t.Helper()
	b, err := store.Open(store.Config{
		Endpoint: p.variable("COLLABUI_S3"), Bucket: s3Bucket, Access: s3Key, Secret: s3Key,
	})
	if err != nil {
		p.t.Fatal(err)
	}

	return b
}

// adapters trains the agents' adapters while everything is killed once.
func (p *production) adapters(model string) shown {
	p.t.Helper()
	p.begin(model, "", fmt.Sprintf(adaptersOfIt, p.pages, model))
	p.must("train", p.spec, "--detach")
	again := func(name string) {
		p.t.Logf("%s is killed", name)
		p.hosts[name].signal(syscall.SIGKILL)
		p.hosts[name].up()
	}

	p.rollsOut("0001", 6, 10*time.Minute)
	again("vllm")
	p.rollsOut("0001", 14, 10*time.Minute)
	again("rollout")
	p.eventually("an update has a checkpoint", 10*time.Minute, func() bool {
		const job = "kill/epochs/0001/agents/%d/job-checkpoint"

		return p.count(fmt.Sprintf(job, 0))+p.count(fmt.Sprintf(job, 1)) > 0
	})
	again("gpu") // with LLaMA-Factory, which is in its process group or ends with it
	p.rollsOut("0002", 4, 15*time.Minute)
	again("gateway")
	p.rollsOut("0002", 10, 10*time.Minute)
	again("head")

	return p.sound(30 * time.Minute)
}

// temperature is the temperature of rollouts. vLLM returns log-probabilities of the distribution from which it samples.
const temperature = 0.5

// row is an answer, with its score by the trainer's libraries.
type row struct {
	Adapter string  `json:"adapter"` // folder; empty: the base model
	System  string  `json:"system"`
	User    string  `json:"user"`
	Answer  string  `json:"answer"`
	End     bool    `json:"end"`
	At      float64 `json:"temperature"`
	Image   string  `json:"image,omitempty"` // file; empty: the prompt has no picture
	logProb float64 // of the rollout
	tokens  int
}

// verify compares the log-probability of every answer of the second epoch with the trainer's libraries, under the
// adapters of both agents.
func (p *production) verify(model string) {
	p.t.Helper()
	b, run := p.store(), runs.Run("kill")
	e, _, err := run.Epoch(1).Must(p.t.Context(), b)
	if err != nil {
		p.t.Fatal(err)
	}
	folders := make([]string, len(e.System.Policies)) // empty: the base model plays after a refused update
	for i, d := range e.System.Digests() {
		dir := p.file(fmt.Sprintf("adapter-%d", i))
		p.must("export", "--policy", d, "--out", dir)
		if _, err := os.Stat(filepath.Join(dir, "adapter_config.json")); err == nil {
			folders[i] = dir
		}
	}
	p.t.Logf("policies of epoch 2: %q", folders)
	if folders[0] == folders[1] {
		p.t.Fatalf("no agent has an adapter after epoch 1, want at least one\n%s", p.must("show", "kill"))
	}
	p.served(b)
	rows := p.rows(b, folders)
	own, other := p.scores(model, rows), p.scores(model, swapped(rows, folders))

	p.sameTokens(model, rows[:min(100, len(rows))])
	var worst, mean, others float64
	compared := 0
	for i, r := range rows {
		if own[i].Tokens != r.tokens {
			continue // a text of random bytes may have other tokens than the sampled ones
		}
		compared++
		n := float64(r.tokens)
		off := math.Abs(own[i].LogProb-r.logProb) / n
		worst, mean, others = max(worst, off), mean+off, others+math.Abs(other[i].LogProb-r.logProb)/n
		if off > apart {
			p.t.Errorf("answer %q: its log-probability is %g per token from that of its own adapter, want at most %g",
				r.Answer, off, apart)
		}
	}
	mean, others = mean/float64(compared), others/float64(compared)
	p.t.Logf("%d of %d answers compared, per token: at most %.2g from their own adapter, on average %.2g; "+
		"on average %.2g from the other's", compared, len(rows), worst, mean, others)
	if others < 10*mean {
		p.t.Errorf("answers are %.2g from the other agent's adapter, want ten times the %.2g from their own",
			others, mean)
	}
	if compared < len(rows)/2 || compared < 50 {
		p.t.Errorf("%d of %d answers could be compared, want half of them and 50", compared, len(rows))
	}
}

// served checks that every update was compared with what vLLM served, and with the rollouts of its parent.
func (p *production) served(b store.Bucket) {
	p.t.Helper()
	for epoch := 1; epoch <= 2; epoch++ {
		for agent := range 2 {
			u, _, err := runs.Run("kill").Update(epoch, agent).Must(p.t.Context(), b)
			if err != nil {
				p.t.Fatal(err)
			}
			if u.Steps == 0 {
				continue
			}
			p.t.Logf("epoch %d, agent %d: trainer and servers differ by %+v, trainer and rollouts by %+v", epoch, agent,
				u.Served, u.Played)
			if u.Served.Answers == 0 || u.Served.Wide() || u.Played.Answers == 0 || u.Played.Wide() {
				p.t.Errorf("epoch %d, agent %d: the gaps are %+v and %+v, want answers compared, and no gap",
					epoch, agent, u.Served, u.Played)
			}
		}
	}
}

// sameTokens checks that LLaMA-Factory trains on the tokens that vLLM reads and writes: the prompt with the chat
// template, the answer, and the token that ends it. LLaMA-Factory adds the template's line end, which vLLM never
// writes.
func (p *production) sameTokens(model string, rows []row) {
	p.t.Helper()
	output := p.python(p.lines(rows), adapters, "tokens", model)
	longest := 0
	for i, line := range strings.Split(output, "\n") {
		var trained struct{ Prompt, Answer []int }
		if err := json.Unmarshal([]byte(line), &trained); err != nil {
			p.t.Fatalf("%v in %q, want tokens", err, line)
		}
		end := p.tokenize(map[string]any{"prompt": "<|im_end|>\n", "add_special_tokens": false})
		prompt := p.tokenize(map[string]any{
			"add_generation_prompt": true,
			"messages": []map[string]string{
				{"role": "system", "content": rows[i].System}, {"role": "user", "content": rows[i].User},
			},
		})
		answer := append(p.tokenize(map[string]any{"prompt": rows[i].Answer, "add_special_tokens": false}), end...)
		if !slices.Equal(prompt, trained.Prompt) || !slices.Equal(answer, trained.Answer) {
			p.t.Errorf("row %d: LLaMA-Factory trains on %v and %v, want what vLLM reads, %v and %v",
				i, trained.Prompt, trained.Answer, prompt, answer)
		}
		longest = max(longest, len(prompt)+len(answer))
	}
	p.t.Logf("%d rows of up to %d tokens are the same in training and serving", len(rows), longest)
}

// tokenize requests tokens from vLLM.
func (p *production) tokenize(q map[string]any) []int {
	p.t.Helper()
	q["model"] = "base"
	body, err := json.Marshal(q)
	if err != nil {
		p.t.Fatal(err)
	}
	r, err := http.Post("http://"+p.engine+"/tokenize", "application/json", bytes.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	var x struct{ Tokens []int }
	if err := json.NewDecoder(r.Body).Decode(&x); err != nil || len(x.Tokens) == 0 {
		p.t.Fatalf("vLLM says %d tokens and %v, want some", len(x.Tokens), err)
	}

	return x.Tokens
}

// rows returns the answers of the second epoch, under the adapters of their agents.
func (p *production) rows(b store.Bucket, folders []string) (out []row) {
	p.t.Helper()
	run := runs.Run("kill")
	for slot := 1; slot <= 32; slot++ {
		attempts, err := run.Attempts(p.t.Context(), b, 2, slot)
		if err != nil {
			p.t.Fatal(err)
		}
		for _, a := range attempts {
			for i := range a.Steps {
				s, _, err := run.Step(2, slot, a.Attempt, i+1).Must(p.t.Context(), b)
				if err != nil {
					p.t.Fatal(err)
				}
				for _, c := range s.Decision.Cells {
					out = append(out, row{
						Adapter: folders[c.Agent], System: agents.Default.System(), User: c.Prompt, Answer: c.Text,
						End: true, At: temperature, logProb: c.LogProb, tokens: c.Usage.Answer,
					})
				}
			}
		}
	}

	return out
}

// swapped returns rows under the adapter of the other agent.
func swapped(rows []row, folders []string) []row {
	out := append([]row(nil), rows...)
	for i := range out {
		if out[i].Adapter == folders[0] {
			out[i].Adapter = folders[1]
		} else {
			out[i].Adapter = folders[0]
		}
	}

	return out
}

// adapters is the script that runs the trainer's libraries.
const adapters = "../../internal/policy/gateway/testdata/adapters.py"

// lines writes rows in the form that the script reads.
func (p *production) lines(rows []row) string {
	p.t.Helper()
	var in bytes.Buffer
	for _, r := range rows {
		if err := json.NewEncoder(&in).Encode(r); err != nil {
			p.t.Fatal(err)
		}
	}

	return in.String()
}

// scored is the score of an answer by the trainer's libraries.
type scored struct {
	LogProb float64 `json:"logprob"`
	Tokens  int     `json:"tokens"`
}

func (p *production) scores(model string, rows []row) []scored {
	p.t.Helper()
	out := make([]scored, len(rows))
	output := p.python(p.lines(rows), adapters, "score", model)
	for i, line := range strings.Split(output, "\n") {
		if err := json.Unmarshal([]byte(line), &out[i]); err != nil {
			p.t.Fatal(err)
		}
	}

	return out
}
