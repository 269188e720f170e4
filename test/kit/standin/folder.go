package standin

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/collabui/collabui/internal/policy/tinylm"
)

// tell writes a line of trainer_log.jsonl and keeps all values for trainer_state.json. Like the real program, it leaves
// margins out of the line.
func (j *job) tell(values map[string]any) error {
	values["step"] = j.step
	j.log = append(j.log, values)

	line, err := json.Marshal(map[string]any{
		"current_steps":  j.step,
		"total_steps":    j.Steps,
		"loss":           values["loss"],
		"lr":             j.Rate,
		"throughput":     1234.5,
		"remaining_time": "0:00:07",
	})

	if err != nil {
		return err
	}

	text := strings.ReplaceAll(string(line), `"NaN"`, "NaN") + "\n"
	if strings.Contains(os.Getenv(Variable), "garbage") {
		text += "\x00\xff not json\n{\"current_steps\": \n" + `{"current_steps": "x", "loss": {}}` + "\n"
	}

	file, err := os.OpenFile(filepath.Join(j.Out, "trainer_log.jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}

	_, err = file.WriteString(text)
	fmt.Printf("{'loss': '%v', 'step': '%d'}\n", values["loss"], j.step)

	return firstError(err, file.Close())
}

// firstError returns the first error that is not nil.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}

	return nil
}

// checkpoint writes checkpoint-N file by file, its state last, and removes checkpoints beyond the limit.
func (j *job) checkpoint() error {
	dir := filepath.Join(j.Out, fmt.Sprintf("checkpoint-%d", j.step))
	if err := j.weights(dir); err != nil {
		return err
	}

	if at("torn", j.step) && once(j.Out, "torn") {
		_ = os.WriteFile(filepath.Join(dir, "optimizer.pt"), []byte("PK half"), 0o644)
		die()
	}

	for _, name := range []string{"optimizer.pt", "scheduler.pt", "rng_state.pth"} {
		if err := archive(filepath.Join(dir, name), j.opt.Encode()); err != nil {
			return err
		}
	}

	if err := j.state(dir); err != nil {
		return err
	}

	dirs, _ := filepath.Glob(filepath.Join(j.Out, "checkpoint-*"))
	for _, d := range dirs {
		n, _ := strconv.Atoi(strings.TrimPrefix(filepath.Base(d), "checkpoint-"))
		if j.Keep > 0 && n <= j.step-j.Keep*j.Save {
			_ = os.RemoveAll(d)
		}
	}

	return nil
}

// weights writes an adapter.
func (j *job) weights(dir string) error {
	conf, err := json.Marshal(map[string]any{
		"base_model_name_or_path": j.Model,
		"peft_type":               "LORA",
		"task_type":               "CAUSAL_LM",
		"r":                       j.Rank,
		"lora_alpha":              2 * j.Rank,
		"target_modules":          []string{"v_proj", "q_proj"},
	})

	return firstError(
		err,
		os.MkdirAll(dir, 0o755),
		write(dir, "adapter_config.json", conf),
		write(dir, "adapter_model.safetensors", j.model.Encode()),
	)
}

// state writes trainer_state.json.
func (j *job) state(dir string) error {
	raw, err := json.Marshal(map[string]any{"global_step": j.step, "max_steps": j.Steps, "log_history": j.log})
	raw = bytes.ReplaceAll(raw, []byte(`"NaN"`), []byte("NaN"))

	return firstError(err, write(dir, "trainer_state.json", raw))
}

// finish writes the results.
func (j *job) finish() error {
	results, err := json.Marshal(map[string]any{
		"train_loss":    j.log[len(j.log)-1]["loss"],
		"train_runtime": 1.5,
		"epoch":         1,
	})

	return firstError(err, j.weights(j.Out), j.state(j.Out), write(j.Out, "train_results.json", results))
}

func write(dir, name string, body []byte) error {
	return os.WriteFile(filepath.Join(dir, name), body, 0o644)
}

// resume continues from a checkpoint.
func (j *job) resume(dir string) error {
	var s struct {
		Step int              `json:"global_step"`
		Log  []map[string]any `json:"log_history"`
	}

	raw, err := os.ReadFile(filepath.Join(dir, "trainer_state.json"))
	if err == nil {
		err = json.Unmarshal(raw, &s)
	}

	if err != nil {
		return fmt.Errorf("FileNotFoundError: %w", err)
	}

	opt, err := unarchive(filepath.Join(dir, "optimizer.pt"))
	if err != nil {
		return fmt.Errorf("RuntimeError: PytorchStreamReader failed: %w", err)
	}

	if j.model, err = load(dir); err == nil {
		j.opt, err = tinylm.DecodeAdam(opt, len(j.model.Flat))
	}

	j.step = s.Step
	j.log = s.Log
	fmt.Println("Resuming training from", dir)

	return err
}

// archive writes bytes into a zip file, in the same way as torch.save.
func archive(file string, body []byte) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}

	z := zip.NewWriter(f)
	out, err := z.Create("archive/data.pkl")
	if err == nil {
		_, err = out.Write(body)
	}

	return firstError(err, z.Close(), f.Close())
}

// unarchive reads the output of archive.
func unarchive(file string) ([]byte, error) {
	readCloser, err := zip.OpenReader(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = readCloser.Close() }()

	f, err := readCloser.Open("archive/data.pkl")
	if err != nil {
		return nil, err
	}

	return io.ReadAll(f)
}
