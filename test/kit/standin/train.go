// Package standin behaves, and misbehaves on request, like the programs of other people that this system runs: llamafactory-cli and a server of language models. Behind both stands
// the small policy, so that what is trained is really trained and what is served really answers. Only tests import it.
package standin

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/policy/tinylm"
)

// Variable says how the program misbehaves: words separated by blanks, each at most once per file of its name in the folder of the job, so that a retry goes well.
//
//	kill@N     dies as by kill -9 behind optimiser step N
//	torn@N     likewise, in the middle of writing checkpoint-N
//	hang@N     stops doing anything behind step N, and ignores SIGTERM
//	exit@N=T   fails behind step N with the text T, in which + stands for a blank
//	nan@N      the loss of step N is not a number; not only once
//	garbage    writes lines into its log that are none; not only once
//	drop       trains on one row less than it was given; not only once
//	quit@N     ends with status 0 behind step N
//	late       dies as by kill -9 behind its last checkpoint, before its results
//	orphan     leaves a process in a session of its own, as torchrun's are; its id stands in the file orphan of the working folder; not only once
//	empty      ends with status 0 and no result
//	slow=MS    waits so long at every step; not only once
const Variable = "STANDIN"

// config are the keys that the stand-in knows; unknown ones are errors, as they are to the real program.
type config struct {
	Model      string             `yaml:"model_name_or_path"`
	Stage      string             `yaml:"stage"`
	Adapter    string             `yaml:"adapter_name_or_path"`
	RefModel   string             `yaml:"ref_model"`
	RefAdapter string             `yaml:"ref_model_adapters"`
	DataDir    string             `yaml:"dataset_dir"`
	Dataset    string             `yaml:"dataset"`
	Out        string             `yaml:"output_dir"`
	Steps      int                `yaml:"max_steps"`
	Save       int                `yaml:"save_steps"`
	Keep       int                `yaml:"save_total_limit"`
	PerDevice  int                `yaml:"per_device_train_batch_size"`
	Accumulate int                `yaml:"gradient_accumulation_steps"`
	Rate       float64            `yaml:"learning_rate"`
	Warmup     int                `yaml:"warmup_steps"`
	Beta       float64            `yaml:"pref_beta"`
	Ftx        float64            `yaml:"pref_ftx"`
	Seed       uint64             `yaml:"seed"`
	Rank       int                `yaml:"lora_rank"`
	Kwargs     map[string]float64 `yaml:"lr_scheduler_kwargs"`

	A any `yaml:"do_train"`
	B any `yaml:"finetuning_type"`
	C any `yaml:"template"`
	D any `yaml:"media_dir"`
	E any `yaml:"cutoff_len"`
	F any `yaml:"overwrite_cache"`
	G any `yaml:"logging_steps"`
	H any `yaml:"save_strategy"`
	I any `yaml:"save_only_model"`
	J any `yaml:"overwrite_output_dir"`
	K any `yaml:"report_to"`
	L any `yaml:"weight_decay"`
	M any `yaml:"lr_scheduler_type"`
	N any `yaml:"bf16"`
	O any `yaml:"fp16"`
	P any `yaml:"logging_nan_inf_filter"`
	Q any `yaml:"include_num_input_tokens_seen"`
	R any `yaml:"image_max_pixels"`
	S any `yaml:"ddp_timeout"`
	T any `yaml:"lora_dropout"`
	U any `yaml:"lora_target"`
	V any `yaml:"lora_alpha"`
	W any `yaml:"pref_loss"`
	X any `yaml:"data_seed"`
}

type job struct {
	config
	model *tinylm.Model
	opt   tinylm.Adam
	ex    []tinylm.Example
	ref   [][]float64
	log   []map[string]any // log_history
	step  int
}

// Train is `llamafactory-cli train FILE`; it gives the exit status.
func Train(file string) int {
	signal.Reset(syscall.SIGTERM)
	raw, err := os.ReadFile(file)
	j := &job{}
	if err == nil {
		dec := yaml.NewDecoder(bytes.NewReader(raw))
		dec.KnownFields(true)
		if err = dec.Decode(&j.config); err != nil {
			err = fmt.Errorf("ValueError: Some keys are not used by the HfArgumentParser: %w", err)
		}
	}
	if err == nil {
		err = j.prepare()
	}
	if err == nil {
		err = j.run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "Traceback (most recent call last):\n", err)
		return 1
	}
	return 0
}

func load(dir string) (*tinylm.Model, error) {
	for _, name := range []string{"adapter_model.safetensors", "model.safetensors"} {
		if raw, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
			return tinylm.Decode(raw)
		}
	}
	return nil, fmt.Errorf("OSError: Error no file named model.safetensors found in directory %s", dir)
}

// prepare reads model, data and the newest checkpoint: the last folder by its number, blindly.
func (j *job) prepare() (err error) {
	start := j.Model
	if j.Adapter != "" {
		start = j.Adapter
	}
	if j.model, err = load(start); err != nil {
		return err
	}
	if err := j.data(); err != nil {
		return err
	}
	if j.Stage == "dpo" {
		dir := j.Model // the adapter switched off
		if j.RefModel != "" {
			dir = j.RefModel
		}
		if j.RefAdapter != "" {
			dir = j.RefAdapter
		}
		ref, err := load(dir)
		if err != nil {
			return err
		}
		j.ref = ref.LogProbs(j.ex, 1)
	}
	dirs, _ := filepath.Glob(filepath.Join(j.Out, "checkpoint-*"))
	last := 0
	for _, d := range dirs {
		n, _ := strconv.Atoi(strings.TrimPrefix(filepath.Base(d), "checkpoint-"))
		last = max(last, n)
	}
	if last == 0 {
		if _, err := os.Stat(filepath.Join(j.Out, "adapter_model.safetensors")); err == nil {
			return fmt.Errorf("ValueError: Output directory already exists and is not empty")
		}
		return os.MkdirAll(j.Out, 0o755)
	}
	return j.resume(filepath.Join(j.Out, fmt.Sprintf("checkpoint-%d", last)))
}

type message struct{ Role, Content string }

// data reads rows and drops, with a warning only, those that the real program drops.
func (j *job) data() error {
	var info map[string]struct {
		File    string `json:"file_name"`
		Ranking bool   `json:"ranking"`
	}
	raw, err := os.ReadFile(filepath.Join(j.DataDir, "dataset_info.json"))
	if err == nil {
		err = json.Unmarshal(raw, &info)
	}
	if err != nil {
		return err
	}
	f, err := os.Open(filepath.Join(j.DataDir, info[j.Dataset].File))
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 16<<20)
	rows, drop := 0, strings.Contains(os.Getenv(Variable), "drop")
	for sc.Scan() {
		var r struct {
			Messages         []message
			Chosen, Rejected message
		}
		if err := json.Unmarshal(sc.Bytes(), &r); err != nil {
			return err
		}
		turns := slices.DeleteFunc(r.Messages, func(m message) bool { return m.Role == "system" })
		ranking := info[j.Dataset].Ranking
		if len(turns)%2 == 1 != ranking {
			fmt.Println("Invalid message count in", r.Messages)
			continue
		}
		if drop {
			drop = false
			continue
		}
		rows++
		texts := []string{r.Chosen.Content, r.Rejected.Content}
		if !ranking {
			texts = []string{turns[1].Content}
		}
		p := tinylm.ParsePrompt(turns[0].Content)
		ex := tinylm.Example{Prompt: p}
		for _, t := range texts {
			if a, err := agents.ParseAnswer(t); err == nil { // in the small policy's own words
				if own, err := tinylm.Render(a); err == nil {
					t = own
				}
			}
			if c, err := p.Parse(t); err == nil {
				ex.Answers = append(ex.Answers, c)
			}
		}
		if len(ex.Answers) == len(texts) { // the small policy cannot say everything
			j.ex = append(j.ex, ex)
		}
	}
	fmt.Fprintf(os.Stderr, "  Num examples = %d\n", rows)
	if len(j.ex) == 0 {
		return fmt.Errorf("ValueError: no data")
	}
	return sc.Err()
}

func (j *job) run() error {
	if strings.Contains(os.Getenv(Variable), "orphan") {
		if err := orphan(j.Out); err != nil {
			return err
		}
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	tr := &tinylm.Trainer{M: j.model, Opt: j.opt, Workers: 1}
	for j.step < j.Steps {
		select {
		case <-stop:
			os.Exit(143)
		default:
		}
		j.step++
		loss, extra := j.optimise(tr)
		if at("nan", j.step) {
			extra["loss"] = "NaN"
		} else {
			extra["loss"] = loss
		}
		if err := j.tell(extra); err != nil {
			return err
		}
		if ms := value("slow="); ms > 0 {
			time.Sleep(time.Duration(ms) * time.Millisecond)
		}
		if err := j.misbehave(stop); err != nil {
			return err
		}
		if j.step%j.Save == 0 || j.step == j.Steps {
			j.opt = tr.Opt
			if err := j.checkpoint(); err != nil {
				return err
			}
		}
	}
	switch {
	case once(j.Out, "empty"):
		os.Exit(0)
	case once(j.Out, "late"):
		die()
	}
	return j.finish()
}

// optimise makes a step on the next rows of an order drawn per pass.
func (j *job) optimise(tr *tinylm.Trainer) (float64, map[string]any) {
	size := min(j.PerDevice*j.Accumulate, len(j.ex))
	perPass := len(j.ex) / size
	pass, at := (j.step-1)/perPass, (j.step-1)%perPass
	perm := domain.Rand(j.Seed, "pass", pass).Perm(len(j.ex))[at*size : (at+1)*size]
	batch, w, ref := make([]tinylm.Example, size), make([]float64, size), make([][]float64, size)
	for i, k := range perm {
		batch[i], w[i] = j.ex[k], 1
		if j.ref != nil {
			ref[i] = j.ref[k]
		}
	}
	rate := j.Rate
	if j.step < j.Warmup {
		rate *= float64(j.step) / float64(j.Warmup)
	}
	if j.Stage != "dpo" {
		return tr.SFTStep(batch, w, rate), map[string]any{}
	}
	st := tr.DPOStep(batch, ref, w, rate, tinylm.DPO{Beta: j.Beta, Ftx: j.Ftx})
	return st.Loss, map[string]any{"rewards/margins": st.Margin, "rewards/accuracies": st.Accuracy}
}
