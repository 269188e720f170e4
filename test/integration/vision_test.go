//go:build integration

package integration

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/workers/catalog"
)

// tiles is the beginning of all specifications of the model that sees. The text shows which tile is selected, and only
// the picture shows which tile has a dot. Two million random parameters learn neither to copy words nor to look for the
// colour or the icon that a goal names, so these templates are left out.
const tiles = `name: %s
environment: tiles
environments:
  tiles: {suite: webtasks, groups: [pictures, words], without: [tap-colour, tap-icon, tap-place, tap-word]}
observation: {kind: %s, pixels: 50176}
prompts: {agent: %s}
agents: 2
decoding: {temperatures: [0.5], top_p: 1} # temperature
`

// tilesStage1 trains all parameters of a model with random weights.
const tilesStage1 = tiles + `epochs: 0
parameters: shared
finetune:
  demonstrations: 1200
  message_share: 0.3
  chunk_steps: 1000 # more than passes allow: one chunk
  max_chunks: 1
  stop_low: 0.1
  train: {learning_rate: 1.0e-3, final_share: 0.05, batch_size: 16, passes: 8}
evaluation: {val: 100, test_seeds: 0, test_templates: 0, test_apps: 0}
trainer:
  name: llamafactory
  options: {model: %s, template: qwen2_vl, finetuning: full, devices: 0, per_device: 16, save_steps: 100,
    precision: fp32, cutoff: 1024}
`

// tilesStage2 trains one adapter per agent on the result of stage 1.
const tilesStage2 = tiles + `epochs: 1
slots: 24
rounds: 2
finetune: {base: model}
pairs: {kind: +correction, min_pairs: 4}
train: {learning_rate: 1.0e-3, batch_size: 4, passes: 2, beta: 0.1, ftx: 1}
gates: {min_parse: 0, max_val_drop: 1}
evaluation: {val: 10, test_seeds: 0, test_templates: 0, test_apps: 0}
trainer:
  name: llamafactory
  options: {model: %s, template: qwen2_vl, devices: 0, per_device: 4, save_steps: 4, precision: fp32, cutoff: 1024,
    rank: 4}
`

// Bounds of what a picture is worth, in points: where only the picture shows what is right, and where the text
// suffices.
const (
	leastBySight = 30
	mostByWords  = 10
)

// seenApart bounds the difference of log-probabilities between a rollout and the trainer's libraries, per token in
// float32.
const seenApart = 1e-6

// TestTheModelThatSees trains a random Qwen2-VL of two million parameters by the real programs: stage 1 on all
// parameters, once with pictures and once without, and then a whole epoch with an adapter per agent and pictures. Every
// recorded answer is scored again by the trainer's libraries, with its picture. `make test-production` runs it.
func TestTheModelThatSees(t *testing.T) {
	vllm, program := os.Getenv("COLLABUI_VLLM"), os.Getenv("COLLABUI_LLAMAFACTORY")
	if vllm == "" || program == "" {
		t.Skip("set COLLABUI_VLLM and COLLABUI_LLAMAFACTORY, or run `make test-production`")
	}
	dir := t.TempDir()
	random := filepath.Join(dir, "random")
	p := &production{cluster: &cluster{machine: newMachine(t, ""), hosts: map[string]*host{}}}
	p.vllm, p.program, p.engine, p.gate = vllm, program, freeAddr(t), freeAddr(t)
	t.Log(p.python("", "../../scripts/make_model.py", random, "--shape", "vision"))
	p.services(p.gate)
	p.env = append(p.env, "COLLABUI_LLAMAFACTORY="+p.program)
	t.Cleanup(p.down)

	rates := map[agents.PresentationKind]map[string]float64{}
	for _, kind := range []agents.PresentationKind{agents.AsText, agents.AsBoth} {
		rates[kind] = p.taught(kind, random, filepath.Join(dir, string(kind)))
	}
	for group, of := range rates[agents.AsBoth] {
		t.Logf("%s: %.0f %% with pictures, %.0f %% without", group, of, rates[agents.AsText][group])
	}
	if gain := rates[agents.AsBoth]["pictures"] - rates[agents.AsText]["pictures"]; gain < leastBySight {
		t.Errorf("pictures are worth %.0f points where only they show what is right, want at least %d", gain,
			leastBySight)
	}
	if gain := rates[agents.AsBoth]["words"] - rates[agents.AsText]["words"]; math.Abs(gain) > mostByWords {
		t.Errorf("pictures are worth %.0f points where the text suffices, want at most %d", gain, mostByWords)
	}

	p.seen(filepath.Join(dir, string(agents.AsBoth)))
}

// taught trains a model in stage 1, writes it into a folder, and returns its success on val by group of templates, in
// percent.
func (p *production) taught(kind agents.PresentationKind, random, trained string) map[string]float64 {
	p.t.Helper()
	name := "first-" + string(kind)
	p.begin(random, "", fmt.Sprintf(tilesStage1, name, kind, p.template(), random))
	stage1 := p.process(binary("collabui"), "train", p.spec, "--until", "stage-1", "--data", p.data)
	p.poll("stage 1 is trained", 30*time.Minute, time.Second, func() bool {
		return p.count("runs/"+name+"/finetune/chunks/0001") > 0
	})
	b := p.store()
	chunk, _, err := runs.Run(name).Chunk(1).Must(p.t.Context(), b)
	if err != nil {
		p.t.Fatal(err)
	}
	p.must("export", "--policy", chunk.Policy.Digest, "--out", trained)
	p.hosts["vllm"].signal(syscall.SIGKILL)
	p.model, p.name = trained, chunk.Policy.Digest
	p.hosts["vllm"].up()
	p.answers()
	p.must("resume", name)
	if err := stage1.Wait(); err != nil {
		p.t.Fatalf("train --until stage-1 of %s: %v, want success", name, err)
	}
	for _, h := range p.hosts {
		h.signal(syscall.SIGKILL)
	}

	return p.byGroup(b, name)
}

// template returns the file of the agents' prompt, which a small model reads in seconds.
func (p *production) template() string {
	p.t.Helper()
	file, err := filepath.Abs("testdata/tiles.tmpl")
	if err != nil {
		p.t.Fatal(err)
	}

	return file
}

// byGroup returns the success of stage 1's last evaluation by group of templates, in percent.
func (p *production) byGroup(b store.Bucket, name string) map[string]float64 {
	p.t.Helper()
	objects, err := b.List(p.t.Context(), "runs/"+name+"/evals/")
	if err != nil {
		p.t.Fatal(err)
	}
	wins, played := map[string]float64{}, map[string]float64{}
	for _, object := range objects {
		if strings.HasSuffix(object.Key, "/result.json") {
			continue
		}
		episode, _, err := store.Must[runs.EvalEpisode](p.t.Context(), b, object.Key)
		if err != nil {
			p.t.Fatal(err)
		}
		group := "pictures"
		if episode.Task.Template == "tap-selected" {
			group = "words"
		}
		played[group]++
		if episode.Outcome.Success {
			wins[group]++
		}
	}
	for group, n := range played {
		wins[group] *= 100 / n
	}
	if len(played) != 2 {
		p.t.Fatalf("val has episodes of %v, want pictures and words", played)
	}

	return wins
}

// seen plays and trains an epoch with pictures, and scores every answer of it again.
func (p *production) seen(model string) {
	p.t.Helper()
	p.begin(model, "", fmt.Sprintf(tilesStage2, "sees", agents.AsBoth, p.template(), model))
	p.must("train", p.spec)
	p.must("fsck", "sees")

	b := p.store()
	run := runs.Run("sees")
	given, err := run.Find(p.t.Context(), b)
	if err != nil {
		p.t.Fatal(err)
	}
	if err := given.Validate(catalog.All{}); err != nil {
		p.t.Fatal(err)
	}
	rows := p.picturedRows(b, run)
	worst := 0.0
	compared := 0
	for i, got := range p.scores(model, rows) {
		if got.Tokens != rows[i].tokens {
			continue // a text of random bytes may have other tokens than the sampled ones
		}
		compared++
		off := math.Abs(got.LogProb-rows[i].logProb) / float64(rows[i].tokens)
		if worst = max(worst, off); off > seenApart {
			p.t.Errorf("answer %q: its log-probability is %g per token from the libraries', want at most %g",
				rows[i].Answer, off, seenApart)
		}
	}
	p.t.Logf("%d of %d answers compared: at most %.2g per token from the libraries", compared, len(rows), worst)
	if compared < 40 {
		p.t.Errorf("%d answers could be compared, want 40", compared)
	}
}

// picturedRows returns the answers of the first epoch, which the model of stage 1 gave, with their pictures as files.
func (p *production) picturedRows(b store.Bucket, run runs.Run) (out []row) {
	p.t.Helper()
	for slot := 1; slot <= 24; slot++ {
		episode, _, err := run.Episode(p.t.Context(), b, 1, slot)
		if err != nil {
			p.t.Fatal(err)
		}
		steps, err := episode.ReadSteps(p.t.Context(), b)
		if err != nil {
			p.t.Fatal(err)
		}
		for _, step := range steps {
			for _, cell := range step.Decision.Cells {
				png, err := store.GetBlob(p.t.Context(), b, cell.Image)
				if err != nil {
					p.t.Fatalf("slot %d, step %d: the picture of a cell: %v", slot, step.Number, err)
				}
				file := p.file(cell.Image + ".png")
				if err := os.WriteFile(file, png, 0o600); err != nil {
					p.t.Fatal(err)
				}
				out = append(out, row{
					System: systemOfTiles, User: cell.Prompt, Image: file, Answer: cell.Text, End: true,
					At: temperature, logProb: cell.LogProb, tokens: cell.Usage.Answer,
				})
			}
		}
	}

	return out
}

// systemOfTiles is the system message of testdata/tiles.tmpl.
const systemOfTiles = "You tap tiles. Answer in two lines, Reason: and Action: {json}"
