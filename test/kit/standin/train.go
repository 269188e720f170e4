package standin

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/preference"
	"github.com/collabui/collabui/internal/policy/tinylm"
)

// job is a training job in progress.
type job struct {
	config
	model *tinylm.Model
	opt   tinylm.Adam
	ex    []tinylm.Example
	ref   [][]float64
	log   []map[string]any // log_history
	step  int
}

// Train does the work of `llamafactory-cli train FILE` and returns the exit status.
func Train(file string) int {
	signal.Reset(syscall.SIGTERM)
	if err := train(file); err != nil {
		fmt.Fprintln(os.Stderr, "Traceback (most recent call last):\n", err)

		return 1
	}

	return 0
}

func train(file string) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}

	j := &job{}
	dec := yaml.NewDecoder(bytes.NewReader(raw))
	dec.KnownFields(true)
	if err := dec.Decode(&j.config); err != nil {
		return fmt.Errorf("ValueError: Some keys are not used by the HfArgumentParser: %w", err)
	}

	if j.Bf16 && !j.UseCPU && os.Getenv("CUDA_VISIBLE_DEVICES") == "" {
		return errors.New("ValueError: Your setup doesn't support bf16/gpu. " +
			"You need to assign use_cpu if you want to train the model on CPU")
	}
	if err := j.prepare(); err != nil {
		return err
	}

	return j.run()
}

// load reads the small policy of a folder: of an adapter or of a model.
func load(dir string) (*tinylm.Model, error) {
	for _, name := range []string{"adapter_model.safetensors", "model.safetensors"} {
		if raw, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
			return tinylm.Decode(raw)
		}
	}

	return nil, fmt.Errorf("OSError: Error no file named model.safetensors found in directory %s", dir)
}

// prepare reads the model, the data and the newest checkpoint. Like the real program, it takes the folder with the
// highest number, intact or not.
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
		dir := j.Model // the model with its adapter switched off
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

	last := 0
	dirs, _ := filepath.Glob(filepath.Join(j.Out, "checkpoint-*")) // the pattern is valid
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

// run makes the remaining steps.
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
		linger()
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

	linger()

	return j.finish()
}

// linger waits for the time that Variable specifies.
func linger() { time.Sleep(time.Duration(value("slow=")) * time.Millisecond) }

// optimise makes a step on the next rows of a random order, which changes with every pass. It returns the loss and
// further values for the log.
func (j *job) optimise(tr *tinylm.Trainer) (float64, map[string]any) {
	size := min(j.PerDevice*j.Accumulate, len(j.ex))
	perPass := len(j.ex) / size
	pass := (j.step - 1) / perPass
	at := (j.step - 1) % perPass
	perm := domain.Rand(j.Seed, "pass", pass).Perm(len(j.ex))[at*size : (at+1)*size]

	batch := make([]tinylm.Example, size)
	w := make([]float64, size)
	ref := make([][]float64, size)
	for i, k := range perm {
		batch[i] = j.ex[k]
		w[i] = 1
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

	st := tr.DPOStep(batch, ref, w, rate, preference.Rule{Beta: j.Beta, Smoothing: j.Smoothing, Ftx: j.Ftx})

	return st.Loss, map[string]any{"rewards/margins": st.Margin, "rewards/accuracies": st.Accuracy}
}
