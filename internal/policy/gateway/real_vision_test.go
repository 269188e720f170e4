package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/gates"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/policy/llm"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/trainer"
	"github.com/collabui/collabui/trainer/external"
	"github.com/collabui/collabui/trainer/llamafactory"
)

// buttons lists the colours of the screens' only button. The colour determines the right action.
var buttons = []color.RGBA{{R: 200, A: 255}, {G: 160, A: 255}, {B: 220, A: 255}}

// screen returns a screenshot as PNG, with its button at one of several places.
func screen(t *testing.T, button, place int) []byte {
	t.Helper()
	shot := image.NewRGBA(image.Rect(0, 0, 168, 224))
	draw.Draw(shot, shot.Bounds(), image.White, image.Point{}, draw.Src)
	at := image.Rect(0, 0, 120, 120).Add(image.Pt(place%5*10, place%7*12))
	draw.Draw(shot, at, image.NewUniform(buttons[button]), image.Point{}, draw.Src)
	var out bytes.Buffer
	if err := png.Encode(&out, shot); err != nil {
		t.Fatal(err)
	}

	return out.Bytes()
}

// visionSystem and visionUser are the prompt of the vision model, which is the same for all screens.
const visionSystem, visionUser = "You operate a user interface.", "Goal: tap the button\nScreen:"

// rightAnswer returns the right answer to a screen.
func rightAnswer(button int) string {
	return fmt.Sprintf(`Action: {"action_type":"click","index":%d}`, button)
}

// TestRealVision trains adapters of a small random Qwen2-VL on screenshots with the real LLaMA-Factory, by SFT and then
// DPO, and serves them with a real vLLM through a gateway. Their answers must follow from what screens show that were
// not in the training data, with the log-probabilities of the trainer's libraries. `make test-production` runs it.
func TestRealVision(t *testing.T) {
	program := os.Getenv("COLLABUI_LLAMAFACTORY")
	if program == "" || os.Getenv("COLLABUI_VLLM") == "" {
		t.Skip("set COLLABUI_VLLM and COLLABUI_LLAMAFACTORY, or run `make test-production`")
	}
	base := filepath.Join(t.TempDir(), "qwen2-vl")
	python(t, "", "../../../scripts/make_model.py", base, "--shape", "vision")
	of, err := external.ModelOf(base)
	if err != nil {
		t.Fatal(err)
	}
	b, served := &store.Memory{}, filepath.Join(t.TempDir(), "served")
	h := &external.Trainer{
		Host: external.Host{
			Bucket: b, Work: t.TempDir(), Checkpoints: func(job string) string { return job + "-checkpoint-" },
		},
		Tool: &llamafactory.Tool{Bucket: b, Program: program},
	}
	options := visionOptions(t, base)
	taught, better := trainOnScreens(t, h, options, b)

	e := realVLLM(os.Getenv("COLLABUI_VLLM"), base)
	s := e.newStage(t, Options{Engine: vllm, Bucket: b, Adapters: served, Model: &of})
	var rows []row
	var canaries []trainer.Row // the same, for the trainer
	var said []float64
	for _, digest := range []string{taught, better} {
		right := 0
		for i := range 12 {
			button, file := i%len(buttons), filepath.Join(t.TempDir(), "screen.png")
			shot := screen(t, button, 100+i)
			if err := os.WriteFile(file, shot, 0o600); err != nil {
				t.Fatal(err)
			}
			answer, logprob := s.look(digest, shot)
			if answer == rightAnswer(button) {
				right++
			}
			rows = append(rows, row{
				Adapter: filepath.Join(served, digest), System: visionSystem, User: visionUser, Image: file,
				Answer: answer,
				End:    true,
			})
			canaries = append(canaries, trainer.Row{
				Policy: digest, Prompt: visionUser, Image: put(t, b, shot), Answer: answer,
				Sampled: true, Temperature: 1, TopP: 1,
			})
			said = append(said, logprob)
		}
		t.Logf("policy %.8s: %d of 12 answers right", digest, right)
		if right < 12 {
			t.Errorf("policy %.8s: %d of 12 answers are right, want all: the text alone gives 4", digest, right)
		}
	}

	worst := 0.0
	for i, want := range reference(t, base, rows) {
		off := math.Abs(said[i]-want.LogProb) / float64(want.Tokens)
		if worst = max(worst, off); off > tolerance {
			t.Errorf("%+v: log-probability %g, want %g as the trainer's libraries say", rows[i], said[i], want.LogProb)
		}
	}
	t.Logf("%d log-probabilities differ by at most %.1g per token from those of the trainer's libraries", len(said),
		worst)

	smaller := canaries[0] // as a server sees it that makes pictures smaller
	smaller.Image = put(t, b, half(t, screen(t, 0, 100)))
	got, err := h.Score(t.Context(), trainer.ScoreJob{
		Rows: append(canaries, smaller), System: visionSystem, Options: options,
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, canary := range canaries {
		off := math.Abs(said[i]-got.Scores[i].LogProb) / float64(got.Scores[i].Tokens)
		if off > tolerance {
			t.Errorf("%+v: log-probability %g by the trainer, want the server's %g",
				canary, got.Scores[i].LogProb, said[i])
		}
	}
	last := got.Scores[len(canaries)]
	off := math.Abs(said[0]-last.LogProb) / float64(last.Tokens)
	t.Logf("with a picture of half the size, log π is %.2g nats per token away", off)
	if limit := gates.GapLimit(spec.Serving{}, domain.Float32); off <= limit {
		t.Errorf("log π changes by %g nats per token with a picture of half the size, want more than %g", off, limit)
	}
}

// put stores a picture and returns its digest.
func put(t *testing.T, b *store.Memory, shot []byte) string {
	t.Helper()
	ref, err := store.PutBlob(t.Context(), b, shot)
	if err != nil {
		t.Fatal(err)
	}

	return ref.SHA256
}

// half returns a picture with half of its width and height.
func half(t *testing.T, shot []byte) []byte {
	t.Helper()
	whole, err := png.Decode(bytes.NewReader(shot))
	if err != nil {
		t.Fatal(err)
	}
	small := image.NewRGBA(image.Rect(0, 0, whole.Bounds().Dx()/2, whole.Bounds().Dy()/2))
	for x := range small.Bounds().Dx() {
		for y := range small.Bounds().Dy() {
			small.Set(x, y, whole.At(2*x, 2*y))
		}
	}
	var out bytes.Buffer
	if err := png.Encode(&out, small); err != nil {
		t.Fatal(err)
	}

	return out.Bytes()
}

// visionOptions returns the trainer's options for a model that sees.
func visionOptions(t *testing.T, base string) json.RawMessage {
	t.Helper()
	o := llamafactory.DefaultOptions()
	o.Model, o.Template, o.Devices, o.Precision = base, "qwen2_vl", 0, "fp32"
	o.SaveSteps, o.Cutoff, o.PerDevice = 50, 1024, 6
	options, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}

	return options
}

// trainOnScreens returns the digests of two adapters: SFT on screens, and DPO that starts from it.
func trainOnScreens(
	t *testing.T, h *external.Trainer, options json.RawMessage, b *store.Memory,
) (taught, better string) {
	t.Helper()
	sft := trainer.Job{
		ID: "runs/seeing/agents/0/sft", Objective: trainer.SFT, Steps: 60, Seed: 11, System: visionSystem,
		Options: options,
		Params:  domain.TrainParams{LearningRate: 5e-3, FinalShare: 0.1, BatchSize: 6, Passes: 1, Beta: 0.1, Ftx: 1},
	}
	for i := range 30 {
		sft.Pairs = append(sft.Pairs, domain.Example{
			Prompt: visionUser, Chosen: rightAnswer(i % len(buttons)), Rejected: rightAnswer((i + 1) % len(buttons)),
			Weight: 1,
			Image:  put(t, b, screen(t, i%len(buttons), i)),
		})
	}
	train := func(j trainer.Job) string {
		r, err := h.Train(t.Context(), j, func(domain.TrainPoint) {})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: loss %.3f to %.3f in %d steps", j.Objective, r.Curve[0].Loss, r.Curve[len(r.Curve)-1].Loss,
			len(r.Curve))

		return r.Digest
	}
	taught = train(sft)

	dpo := sft
	dpo.ID, dpo.Objective, dpo.Steps = "runs/seeing/agents/0/dpo", trainer.DPO, 10
	dpo.Start, dpo.Reference, dpo.Params.LearningRate = taught, taught, 1e-3

	return taught, train(dpo)
}

// look returns a policy's most probable answer to a screenshot, and its log-probability.
func (s *stage) look(digest string, shot []byte) (answer string, logprob float64) {
	s.t.Helper()
	p, err := llm.New(llm.Config{BaseURL: s.url + "/v1", Timeout: 3 * time.Minute, Images: true, LogProbs: true})
	if err != nil {
		s.t.Fatal(err)
	}
	r, err := p.Complete(s.t.Context(), chat.Request{
		Model: digest, System: visionSystem, User: visionUser, Images: chat.NewImage(shot).Images(),
		MaxTokens: 80, N: 1, TopP: 1,
	})
	if err != nil || len(r.Texts) != 1 || len(r.LogProbs) != 1 {
		s.t.Fatalf("policy %.8s: got %v and error %v, want an answer with its log-probability", digest, r, err)
	}

	return strings.TrimSpace(r.Texts[0]), r.LogProbs[0]
}
