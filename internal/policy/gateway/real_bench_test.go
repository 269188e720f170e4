package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/collabui/collabui/internal/store"
)

// adaptersAtOnce is the number of adapters that answer at once, one for each of four agents.
const adaptersAtOnce = 4

// load specifies a number of requests, how many are sent at once, and the tokens of every answer.
type load struct{ requests, atOnce, tokens int }

// BenchmarkThroughTheGateway compares the tokens per second that a real vLLM writes through the gateway and directly,
// for the same requests: four adapters at once, each way twice in turn. Scores that are requested from all adapters at
// once then show whether each comes from its own adapter. vLLM runs a small model on the CPU, unless
// COLLABUI_BENCH_MODEL is another base model and COLLABUI_BENCH_DEVICES its GPU, in which case it also sleeps and
// wakes. `make bench-vllm` runs it.
func BenchmarkThroughTheGateway(b *testing.B) {
	program := os.Getenv("COLLABUI_VLLM")
	if program == "" || os.Getenv("COLLABUI_LLAMAFACTORY") == "" {
		b.Skip("set COLLABUI_VLLM and COLLABUI_LLAMAFACTORY, or run `make bench-vllm`")
	}
	dir := b.TempDir()
	base, adapters := os.Getenv("COLLABUI_BENCH_MODEL"), filepath.Join(dir, "adapters")
	l := load{requests: 32, atOnce: 8, tokens: 48}
	if base == "" {
		base = filepath.Join(dir, "qwen2")
		python(b, "", "../../../scripts/make_model.py", base, "--shape", "small", "--vocabulary", "1000")
	}
	e := onCPU(adaptersAtOnce, program, base)
	e.args = append(e.args, "--no-enable-chunked-prefill") // vLLM 0.32 on a CPU does not support seeds with it
	gpu := os.Getenv("COLLABUI_BENCH_DEVICES")
	if gpu != "" {
		e = vllmWith(adaptersAtOnce, program, base, "--dtype", "bfloat16", "--max-model-len", "4096",
			"--max-num-seqs", "128", "--gpu-memory-utilization", "0.85", "--enable-sleep-mode")
		e.env = append(e.env, "CUDA_VISIBLE_DEVICES="+gpu, "VLLM_SERVER_DEV_MODE=1")
		l = load{requests: 384, atOnce: 64, tokens: 96}
	}
	python(b, "", "testdata/adapters.py", "make", base, adapters, strconv.Itoa(adaptersAtOnce), "8")

	began := time.Now()
	s := e.newStage(b, Options{
		Engine: vllm, Bucket: &store.Memory{}, Adapters: filepath.Join(dir, "served"), Model: &model,
	})
	b.Logf("vLLM answers after %.0f s", time.Since(began).Seconds())
	digests := make([]string, adaptersAtOnce)
	for i := range digests {
		began := time.Now()
		digests[i] = s.folder(filepath.Join(adapters, fmt.Sprint(i)), 8)
		s.sample(digests[i], 0, 1)
		b.Logf("adapter %d is loaded and answers after %.2f s", i, time.Since(began).Seconds())
	}
	own := s.scoresAlone(digests)
	s.compare("direct", false, digests, load{l.atOnce, l.atOnce, l.tokens}) // not measured: compiles on first use

	var direct, through float64 // seconds
	for turn := range b.N {
		for i, way := range []bool{false, true, true, false} {
			d := s.compare(fmt.Sprint(turn, i), way, digests, l)
			if way {
				through += d.Seconds()
			} else {
				direct += d.Seconds()
			}
		}
	}
	n := float64(2 * b.N * l.requests * l.tokens)
	b.ReportMetric(n/direct, "tokens/s-direct")
	b.ReportMetric(n/through, "tokens/s-gateway")
	b.ReportMetric(direct/through, "gateway/direct")

	s.checkAtOnce(digests, own)
	if gpu != "" {
		s.checkSleep(digests, own)
	}
}

// compare sends requests to all adapters in turn, through the gateway or directly to the engine, and logs and returns
// the duration. name begins all prompts, so that neither way finds the other's prompts in vLLM's cache.
func (s *stage) compare(name string, through bool, digests []string, l load) time.Duration {
	s.t.Helper()
	at, names := s.opts.Server, make([]string, len(digests))
	s.gate.mu.Lock()
	for i, d := range digests {
		names[i] = s.gate.policies[d].model
	}
	s.gate.mu.Unlock()
	if through {
		at, names = s.url, digests
	}

	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: l.atOnce}}
	defer client.CloseIdleConnections()
	places := make(chan struct{}, l.atOnce)
	var all sync.WaitGroup
	var mu sync.Mutex
	var prompts, answers int
	var failed error
	began := time.Now()
	for i := range l.requests {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			prompt, answer, err := question(client, at, names[i%len(names)], name, i, l.tokens)
			mu.Lock()
			defer mu.Unlock()
			prompts, answers = prompts+prompt, answers+answer
			if err != nil {
				failed = fmt.Errorf("request %d: %w", i, err)
			}
		})
	}
	all.Wait()
	took := time.Since(began)
	if want := l.requests * l.tokens; answers != want || failed != nil {
		s.t.Fatalf("got %d tokens and %v, want %d", answers, failed, want)
	}
	s.t.Logf("through the gateway: %t: %d requests, %d at once: %.2f s, %.0f tokens of answers and %.0f of prompts/s",
		through, l.requests, l.atOnce, took.Seconds(), float64(answers)/took.Seconds(), float64(prompts)/took.Seconds())

	return took
}

// question requests an answer of the given number of tokens, as an agent does, and returns the numbers of tokens of
// prompt and answer.
func question(c *http.Client, at, model, name string, i, tokens int) (prompt, answer int, err error) {
	screen := strings.Repeat("3 button Submit the order of the customer\n", 24)
	body, err := json.Marshal(map[string]any{
		"model": model, "max_tokens": tokens, "ignore_eos": true, "seed": i,
		"temperature": 1, "top_p": 1, "top_k": -1, "min_p": 0, "repetition_penalty": 1,
		"messages": []map[string]string{
			{"role": "system", "content": name + ": you operate a user interface."},
			{"role": "user", "content": fmt.Sprintf("Goal: press the button %d\nScreen:\n%s", i, screen)},
		},
	})
	if err != nil {
		return 0, 0, err
	}
	r, err := c.Post(at+"/v1/chat/completions", "application/json", bytes.NewReader(body))
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = r.Body.Close() }()
	raw, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		return 0, 0, fmt.Errorf("status %d: %s %v", r.StatusCode, raw, err)
	}
	var x struct {
		Usage struct {
			Prompt int `json:"prompt_tokens"`
			Answer int `json:"completion_tokens"`
		}
	}
	err = json.Unmarshal(raw, &x)

	return x.Usage.Prompt, x.Usage.Answer, err
}

// scoresAlone returns the scores of the given answers under every adapter, requested one after another.
func (s *stage) scoresAlone(digests []string) [][]float64 {
	s.t.Helper()
	out := make([][]float64, len(digests))
	for i, d := range digests {
		out[i] = s.scores(d, 0)
	}

	return out
}

// checkAtOnce requests scores from all adapters at the same time, and expects the scores that each adapter gave alone.
func (s *stage) checkAtOnce(digests []string, own [][]float64) {
	s.t.Helper()
	const turns = 8
	got := make([][]float64, turns*len(digests))
	var all sync.WaitGroup
	for i := range got {
		all.Go(func() { got[i] = s.scores(digests[i%len(digests)], 0) })
	}
	all.Wait()
	s.checkScores(got, own)
}

// checkScores logs the distances of scores from the scores of their own adapter and of the other adapters, and expects
// the latter to be three times as large on average, because on a GPU a score depends on what else is computed with it.
func (s *stage) checkScores(got, own [][]float64) {
	s.t.Helper()
	if s.t.Failed() {
		return // some scores are missing
	}
	var mine, others, worst float64
	for i, scores := range got {
		for k, x := range scores {
			for j := range own {
				off := math.Abs(x - own[j][k])
				if j == i%len(own) {
					mine, worst = mine+off, max(worst, off)
				} else {
					others += off / float64(len(own)-1)
				}
			}
		}
	}
	n := float64(len(got) * len(givenAnswers))
	s.t.Logf("scores of %.0f answers: %.2g from those of their own adapter on average, %.2g at most; %.2g from others'",
		n, mine/n, worst, others/n)
	if others <= 3*mine {
		s.t.Errorf("scores are %.2g from another adapter's, want three times the %.2g from their own", others/n, mine/n)
	}
}

// checkSleep puts the engine to sleep through the gateway and wakes it. Meanwhile, the GPU's memory must be free, and
// afterwards all adapters must give the same scores as before.
func (s *stage) checkSleep(digests []string, own [][]float64) {
	s.t.Helper()
	before := s.gpuMemory()
	began := time.Now()
	s.wants(http.MethodPost, "/sleep", `{"lease_s":120}`, http.StatusOK)
	slept := time.Since(began)
	asleep := s.gpuMemory()
	began = time.Now()
	s.wants(http.MethodPost, "/wake_up", "", http.StatusOK)
	s.t.Logf("asleep after %.2f s, with %d MiB of the GPU instead of %d; awake after %.2f s",
		slept.Seconds(), asleep, before, time.Since(began).Seconds())
	if asleep > before/2 {
		s.t.Errorf("the sleeping engine holds %d MiB, want at most half of %d", asleep, before)
	}
	s.checkScores(s.scoresAlone(digests), own)
}

// gpuMemory returns the used memory of the GPU in MiB.
func (s *stage) gpuMemory() int {
	s.t.Helper()
	out, err := exec.Command("nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits").Output()
	if err != nil {
		s.t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(out), "\n")
	n, err := strconv.Atoi(strings.TrimSpace(first))
	if err != nil {
		s.t.Fatal(err)
	}

	return n
}
