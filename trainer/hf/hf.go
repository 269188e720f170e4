// Package hf knows the folders that trainers built on Hugging Face's transformers leave behind: checkpoints, their state, adapters and models. Tools of such programs share it.
package hf

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/trainer/external"
)

// State is trainer_state.json, which the program writes last into a checkpoint, and at the end of its work.
type State struct {
	Step    int                          `json:"global_step"`
	Max     int                          `json:"max_steps"`
	History []map[string]json.RawMessage `json:"log_history"`
}

// notNumber finds what Python writes for numbers that are none; JSON has no such thing.
var notNumber = regexp.MustCompile(`(:\s*)-?(NaN|Infinity)\b`)

// ReadState reads a folder's state; ok is false where there is none, or half of one.
func ReadState(dir string) (s State, ok bool) {
	raw, err := os.ReadFile(filepath.Join(dir, "trainer_state.json"))
	if err != nil || json.Unmarshal(notNumber.ReplaceAll(raw, []byte(`$1"NaN"`)), &s) != nil {
		return s, false
	}
	return s, s.Step > 0
}

// Number reads a value of a log; numbers that are none may stand there as NaN.
func Number(raw json.RawMessage) (float64, bool) {
	if raw == nil {
		return 0, false
	}
	x, err := strconv.ParseFloat(strings.Trim(string(raw), `"`), 64) // ParseFloat knows NaN
	return x, err == nil
}

// Common is what tools of such programs share: it is embedded in them.
type Common struct{}

// Checkpoints are the complete ones.
func (Common) Checkpoints(f external.Folder) map[int]string { return Checkpoints(f) }

// Policy gives the files of a policy in a checkpoint, and its metrics so far.
func (Common) Policy(f external.Folder, dir string) (map[string]string, map[string]float64, error) {
	return Policy(f, dir)
}

// Checkpoints are the folders checkpoint-N that are complete: state, weights, optimiser. A torn one is there while it is written, or since a kill.
func Checkpoints(f external.Folder) map[int]string {
	out := map[int]string{}
	dirs, _ := filepath.Glob(filepath.Join(f.Out(), "checkpoint-*"))
	for _, dir := range dirs {
		n, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(dir), "checkpoint-"))
		s, ok := ReadState(dir)
		if err != nil || !ok || s.Step != n {
			continue
		}
		if _, _, err := weights(dir); err == nil && optimiser(dir, f.Ranks) {
			out[n] = dir
		}
	}
	return out
}

// optimiser tells whether a checkpoint can be resumed: random states, and optimiser and schedule of one process, or DeepSpeed's. Without its optimiser the program would go on
// silently with another result.
func optimiser(dir string, ranks int) bool {
	states, _ := filepath.Glob(filepath.Join(dir, "rng_state*.pth"))
	for _, s := range states {
		if !external.WholeArchive(s) {
			return false
		}
	}
	if len(states) < max(1, ranks) {
		return false // a process has not written its own yet
	}
	if external.WholeArchive(filepath.Join(dir, "optimizer.pt")) {
		return external.WholeArchive(filepath.Join(dir, "scheduler.pt"))
	}
	latest, err := os.ReadFile(filepath.Join(dir, "latest"))
	if err != nil {
		return false
	}
	parts, _ := filepath.Glob(filepath.Join(dir, filepath.Base(strings.TrimSpace(string(latest))), "*.pt"))
	for _, p := range parts {
		if !external.WholeArchive(p) {
			return false
		}
	}
	return len(parts) >= max(1, ranks)
}

// parts of a policy with all parameters, beside its weights: what a server needs to load it.
var parts = []string{"config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "vocab.json", "merges.txt", "tokenizer.model",
	"chat_template.jinja", "preprocessor_config.json", "processor_config.json", "video_preprocessor_config.json", "model.safetensors.index.json"}

// weights are the files that hold a policy's parameters, where they are whole: an adapter's, or a model's.
func weights(dir string) (files []string, adapter bool, err error) {
	if file := filepath.Join(dir, "adapter_model.safetensors"); exists(file) {
		_, err := external.WholeTensors(file)
		return []string{file}, true, err
	}
	if _, err := external.ModelDigest(dir); err != nil {
		return nil, false, err
	}
	files, err = filepath.Glob(filepath.Join(dir, "*.safetensors"))
	return files, false, err
}

// Policy gives the files of a policy in a job's folder, and the metrics of the state beside them.
func Policy(f external.Folder, dir string) (map[string]string, map[string]float64, error) {
	files, _, err := Files(dir, f.Path)
	s, _ := ReadState(dir)
	return files, Metrics(s, nil), fault.As(fault.Transient, err) // the program may still write them
}

// Files gives the files of a policy in a folder by their names in the artifact, and the rank of an adapter, which is 0 for a whole model. An adapter's configuration is written once more,
// into tmp. What is not whole is an invalid fault.
func Files(dir, tmp string) (map[string]string, int, error) {
	files, adapter, err := weights(dir)
	if err != nil {
		return nil, 0, fault.New(fault.Invalid, "the weights in %s are not whole: %w", dir, err)
	}
	out := map[string]string{}
	for _, w := range files {
		out[filepath.Base(w)] = w
	}
	if adapter {
		out["adapter_config.json"] = filepath.Join(tmp, "adapter_config.json")
		rank, err := adapterConfig(filepath.Join(dir, "adapter_config.json"), out["adapter_config.json"])
		return out, rank, err
	}
	for _, p := range parts {
		if exists(filepath.Join(dir, p)) {
			out[p] = filepath.Join(dir, p)
		}
	}
	return out, 0, nil
}

// adapterConfig writes an adapter's configuration once more, without what differs between hosts and processes: equal adapters have equal names. It gives the rank.
func adapterConfig(from, to string) (int, error) {
	raw, err := os.ReadFile(from)
	if err != nil {
		return 0, fault.As(fault.Invalid, err)
	}
	var c map[string]any
	if err := json.Unmarshal(raw, &c); err != nil {
		return 0, fault.New(fault.Invalid, "%s: %w", from, err)
	}
	rank, _ := c["r"].(float64)
	if rank < 1 {
		return 0, fault.New(fault.Invalid, "%s names no rank r: expected a LoRA adapter's configuration", from)
	}
	if s, ok := c["base_model_name_or_path"].(string); ok {
		c["base_model_name_or_path"] = filepath.Base(s)
	}
	if l, ok := c["target_modules"].([]any); ok { // a set, in an order of its own
		slices.SortFunc(l, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	}
	if raw, err = json.MarshalIndent(c, "", "  "); err == nil {
		err = os.WriteFile(to, append(raw, '\n'), 0o644)
	}
	return int(rank), fault.As(fault.Transient, err)
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// Points merges what the newest state says with the log of this host, lines of JSON in a file of the output folder whose field step counts: after a resume elsewhere the
// log begins late, between checkpoints it is ahead.
func Points(f external.Folder, log, step string) []domain.TrainPoint {
	by := map[int]domain.TrainPoint{}
	newest := State{}
	dirs, _ := filepath.Glob(filepath.Join(f.Out(), "checkpoint-*"))
	for _, dir := range append(dirs, f.Out()) {
		if s, ok := ReadState(dir); ok && s.Step > newest.Step {
			newest = s
		}
	}
	lines, _ := os.Open(filepath.Join(f.Out(), log))
	if lines != nil {
		defer func() { _ = lines.Close() }()
		sc := bufio.NewScanner(lines)
		sc.Buffer(nil, maxLine)
		for sc.Scan() {
			var l map[string]json.RawMessage
			if json.Unmarshal(notNumber.ReplaceAll(sc.Bytes(), []byte(`$1"NaN"`)), &l) != nil {
				continue // half a line, or not one of the log's
			}
			if p, ok := point(l, step); ok {
				p.Live = live(l)
				by[p.Step] = p
			}
		}
	}
	for _, l := range newest.History {
		if p, ok := point(l, "step"); ok {
			p.Live = by[p.Step].Live
			by[p.Step] = p
		}
	}
	margin := ""
	if n := len(newest.History); n > 0 {
		if p, ok := point(newest.History[n-1], "step"); ok && p.Margin != 0 {
			margin = fmt.Sprintf("margin %.3f at step %d", p.Margin, p.Step)
		}
	}
	out := make([]domain.TrainPoint, 0, len(by))
	for _, n := range slices.Sorted(maps.Keys(by)) {
		p := by[n]
		if p.Margin == 0 && margin != "" && n > newest.Step { // some programs tell margins with their checkpoints only
			p.Live = strings.TrimPrefix(p.Live+", "+margin, ", ")
		}
		out = append(out, p)
	}
	return out
}

// maxLine bounds a line of a log.
const maxLine = 1 << 20

func point(l map[string]json.RawMessage, step string) (p domain.TrainPoint, ok bool) {
	n, ok := Number(l[step])
	loss, has := Number(l["loss"])
	if !ok || !has || n < 1 {
		return p, false
	}
	p.Step, p.Loss = int(n), loss
	p.Margin, _ = Number(l["rewards/margins"])
	if p.Accuracy, has = Number(l["rewards/accuracies"]); !has {
		p.Accuracy, _ = Number(l["accuracy"])
	}
	return p, true
}

// live says how fast it goes.
func live(l map[string]json.RawMessage) string {
	var out []string
	if x, ok := Number(l["throughput"]); ok && !math.IsNaN(x) {
		out = append(out, fmt.Sprintf("%.0f tokens/s", x))
	}
	if s := strings.Trim(string(l["remaining_time"]), `"`); s != "" && len(s) < 40 {
		out = append(out, s+" left")
	}
	return strings.Join(out, ", ")
}

// Metrics are the final figures of a state, and of results that the program wrote beside it, without those that time gave.
func Metrics(s State, results []byte) map[string]float64 {
	metrics, all := map[string]float64{}, map[string]json.RawMessage{}
	_ = json.Unmarshal(notNumber.ReplaceAll(results, []byte(`$1"NaN"`)), &all) // what cannot be read is no figure
	for _, l := range s.History {
		for k, v := range l {
			if strings.HasPrefix(k, "rewards/") || strings.HasPrefix(k, "logps/") {
				all[k] = v // the last one stays
			}
		}
	}
	for k, v := range all {
		if x, ok := Number(v); ok && !math.IsNaN(x) && !strings.Contains(k, "runtime") && !strings.Contains(k, "per_second") {
			metrics[k] = x
		}
	}
	return metrics
}
