package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/policy/llm"
	"github.com/collabui/collabui/internal/store"
)

// tolerance bounds the difference between log-probabilities of an engine and of the trainer's libraries, per token, in
// float32.
const tolerance = 1e-3

// python runs testdata/adapters.py with the trainer's libraries.
func python(t testing.TB, in string, args ...string) string {
	t.Helper()
	program := filepath.Join(filepath.Dir(os.Getenv("COLLABUI_LLAMAFACTORY")), "python")
	cmd := exec.Command(program, args...)
	cmd.Env, cmd.Stdin = append(os.Environ(), "CUDA_VISIBLE_DEVICES="), strings.NewReader(in)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: got %v, want success\n%s", args, err, said.String())
	}

	return string(out)
}

// folder stores an adapter from a folder.
func (s *stage) folder(dir string, rank int) string {
	s.t.Helper()
	a := domain.Artifact{Kind: domain.ArtifactLoRA, Base: model, Rank: rank}
	for _, name := range []string{"adapter_config.json", "adapter_model.safetensors"} {
		body, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			s.t.Fatal(err)
		}
		ref, err := store.PutBlob(s.t.Context(), s.bucket, body)
		if err != nil {
			s.t.Fatal(err)
		}
		a.Files = append(a.Files, domain.ArtifactFile{Path: name, Key: ref.Key, SHA256: ref.SHA256, Size: ref.Size})
	}

	return s.put(a)
}

// row is an answer that the trainer's libraries score.
type row struct {
	Adapter string `json:"adapter"` // folder; empty means the base model
	System  string `json:"system"`
	User    string `json:"user"`
	Image   string `json:"image,omitempty"` // file, shown after the user's text
	Answer  string `json:"answer"`
	End     bool   `json:"end"` // whether the token that ends a turn counts
}

// rowScore is the score of a row.
type rowScore struct {
	LogProb float64 `json:"logprob"`
	Tokens  int     `json:"tokens"`
}

func reference(t testing.TB, model string, rows []row) []rowScore {
	t.Helper()
	var in bytes.Buffer
	for _, r := range rows {
		if err := json.NewEncoder(&in).Encode(r); err != nil {
			t.Fatal(err)
		}
	}
	out := make([]rowScore, len(rows))
	said := python(t, in.String(), "testdata/adapters.py", "score", model)
	for i, line := range strings.Split(strings.TrimSpace(said), "\n") {
		if err := json.Unmarshal([]byte(line), &out[i]); err != nil {
			t.Fatal(err)
		}
	}

	return out
}

// TestRealVLLM serves a base model and three adapters with a real vLLM that can hold two. Every answer must come from
// the requested adapter, which its log-probability shows, before and after vLLM is killed. `make test-production` runs
// it.
func TestRealVLLM(t *testing.T) { serveReally(t, vllm, os.Getenv("COLLABUI_VLLM"), realVLLM) }

// TestRealSGLang does the same with a real SGLang.
func TestRealSGLang(t *testing.T) { serveReally(t, sglang, os.Getenv("COLLABUI_SGLANG"), realSGLang) }

func serveReally(t *testing.T, engine, program string, of func(program, model string) *realEngine) {
	if program == "" || os.Getenv("COLLABUI_LLAMAFACTORY") == "" {
		t.Skip("set COLLABUI_VLLM, COLLABUI_SGLANG and COLLABUI_LLAMAFACTORY, or run `make test-production`")
	}
	dir := t.TempDir()
	base, adapters := filepath.Join(dir, "qwen2"), filepath.Join(dir, "adapters")
	python(t, "", "../../../scripts/make_model.py", base, "--shape", "small")
	python(t, "", "testdata/adapters.py", "make", base, adapters, "3", "4")

	e := of(program, base)
	s := e.newStage(t, Options{
		Engine: engine, Bucket: &store.Memory{}, Adapters: filepath.Join(dir, "served"), Model: &model,
	})

	folders := map[string]string{s.put(domain.Artifact{Kind: domain.ArtifactBase, Base: model}): ""}
	for i := range 3 {
		at := filepath.Join(adapters, fmt.Sprint(i))
		folders[s.folder(at, 4)] = at
	}

	before := s.verify(base, folders, e.temp)
	e.kill()
	e.start()
	after := s.verify(base, folders, e.temp)
	if before != after {
		t.Errorf("after a kill of the engine the answers are\n%s\nwant those before\n%s", after, before)
	}
}

// questionOf returns question i, which every policy is asked.
func questionOf(i int) (system, user string) {
	return "You operate a user interface.", fmt.Sprintf("Goal: click the button %d\nScreen: button, link, text", i)
}

// givenAnswers lists answers that are scored.
var givenAnswers = []string{"Action: click 3", "Action: scroll down"}

// verify queries every policy, compares its scores with those of the trainer's libraries under all adapters, and
// expects them to match its own adapter. It returns all answers.
func (s *stage) verify(base string, folders map[string]string, temperature float64) string {
	s.t.Helper()
	digests := slices.Sorted(maps.Keys(folders))
	var says []float64
	var text strings.Builder
	for _, digest := range digests {
		for i := range 4 {
			answers, scores := s.sample(digest, i, temperature)
			fmt.Fprintf(&text, "%.8s %d %q\n", digest, i, answers)
			says = append(says, scores...)
		}
	}
	var rows []row
	for _, digest := range digests {
		for i := range 4 {
			system, user := questionOf(i)
			for _, answer := range givenAnswers {
				rows = append(rows, row{Adapter: folders[digest], System: system, User: user, Answer: answer})
			}
		}
	}

	all, each := reference(s.t, base, rows), len(rows)/len(digests)
	worst, nearest := 0.0, math.Inf(1)
	for i, got := range says {
		for k := i % each; k < len(all); k += each { // the same answer under every adapter
			off := math.Abs(got-all[k].LogProb) / float64(all[k].Tokens)
			if k != i {
				nearest = min(nearest, off)
			} else if worst = max(worst, off); off > tolerance {
				s.t.Errorf("%+v: got %g, want %g as the trainer's libraries say", rows[i], got, all[i].LogProb)
			}
		}
	}
	s.t.Logf("%d scores differ by at most %.1g per token from their own adapter's and by at least %.2g from others'",
		len(says), worst, nearest)
	if nearest < 2*tolerance {
		s.t.Errorf("the adapters' scores differ by %g per token, want at least %g to tell them apart", nearest,
			2*tolerance)
	}

	return text.String()
}

// sample returns two answers to a question sampled from a policy, and the policy's scores of the given answers.
func (s *stage) sample(digest string, i int, temperature float64) (answers []string, scores []float64) {
	s.t.Helper()
	system, user := questionOf(i)
	r, err := s.patientPool().Complete(s.t.Context(), chat.Request{
		Model: digest, System: system, User: user, Temperature: temperature, TopP: 1, MaxTokens: 24, Seed: uint64(i),
		N: 2,
	})
	if err != nil {
		s.t.Fatalf("policy %.8s: got %v, want answers", digest, err)
	}

	return r.Texts, s.scores(digest, i)
}

// scores returns the log-probabilities of the given answers to a question under a policy.
func (s *stage) scores(digest string, i int) (out []float64) {
	system, user := questionOf(i)
	all, err := s.patientPool().Score(s.t.Context(), chat.ScoreRequest{
		Model: digest, System: system, User: user, Answers: givenAnswers,
	})
	if err != nil {
		s.t.Errorf("policy %.8s: got %v, want scores", digest, err)
	}
	for _, x := range all {
		out = append(out, x.LogProb)
	}

	return out
}

// patientPool returns a client of the stage's gateway with a timeout for an engine on a busy CPU.
func (s *stage) patientPool() *llm.Pool {
	s.t.Helper()
	p, err := llm.PolicyServers([]string{s.url + "/v1"}, llm.Config{Timeout: 3 * time.Minute})
	if err != nil {
		s.t.Fatal(err)
	}

	return p
}
