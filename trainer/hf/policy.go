package hf

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/trainer/external"
)

// modelFiles are the files that a server needs to load a policy with all parameters, apart from its weights.
var modelFiles = []string{
	"config.json",
	"generation_config.json",
	"tokenizer.json",
	"tokenizer_config.json",
	"special_tokens_map.json",
	"added_tokens.json",
	"vocab.json",
	"merges.txt",
	"tokenizer.model",
	"chat_template.jinja",
	"preprocessor_config.json",
	"processor_config.json",
	"video_preprocessor_config.json",
	"model.safetensors.index.json",
}

// adapterFile is the configuration of an adapter.
const adapterFile = "adapter_config.json"

// Policy returns the files of a policy in a job's folder, and the metrics of the state next to them.
func Policy(folder external.Folder, dir string) (map[string]string, map[string]float64, error) {
	files, _, err := Files(dir, folder.Path)
	state, _ := ReadState(dir)

	return files, Metrics(state, nil), fault.As(fault.Transient, err) // The program may still be writing them.
}

// Files returns the files of a policy in a folder by their names in the artifact, and the rank of an adapter, which is
// 0 for a whole model. It writes a canonical configuration of an adapter into tmp. A policy that is not whole is an
// invalid fault.
func Files(dir, tmp string) (files map[string]string, rank int, err error) {
	tensors, adapter, err := weights(dir)
	if err != nil {
		return nil, 0, fault.New(fault.Invalid, "the weights in %s are not whole: %w", dir, err)
	}

	out := map[string]string{}
	for _, word := range tensors {
		out[filepath.Base(word)] = word
	}
	if adapter {
		out[adapterFile] = filepath.Join(tmp, adapterFile)
		rank, err := adapterConfig(filepath.Join(dir, adapterFile), out[adapterFile])

		return out, rank, err
	}

	for _, name := range modelFiles {
		if file := filepath.Join(dir, name); exists(file) {
			out[name] = file
		}
	}

	return out, 0, nil
}

// adapterConfig copies an adapter's configuration without what differs between hosts and processes, so equal adapters
// have equal digests. What PEFT and vLLM read must be in it. It returns the rank.
func adapterConfig(from, to string) (rank int, err error) {
	raw, err := os.ReadFile(from)
	if err != nil {
		return 0, fault.As(fault.Invalid, err)
	}
	var config map[string]any
	if err := json.Unmarshal(raw, &config); err != nil {
		return 0, fault.New(fault.Invalid, "%s: %w", from, err)
	}

	r, _ := config["r"].(float64)
	if r < 1 {
		return 0, fault.New(fault.Invalid, "%s names no rank r: expected a LoRA adapter's configuration", from)
	}
	for name, value := range map[string]string{"peft_type": "LORA", "task_type": "CAUSAL_LM"} {
		if config[name] == nil {
			config[name] = value
		}
		if config[name] != value {
			return 0, fault.New(fault.Invalid, "%s: %s: expected %s, not %v", from, name, value, config[name])
		}
	}
	for _, name := range []string{"base_model_name_or_path", "lora_alpha", "target_modules"} {
		if config[name] == nil || config[name] == "" {
			return 0, fault.New(fault.Invalid, "%s lacks %s, without which PEFT or vLLM cannot load the adapter: "+
				"write it with PEFT's save_pretrained", from, name)
		}
	}
	if base, ok := config["base_model_name_or_path"].(string); ok {
		config["base_model_name_or_path"] = filepath.Base(base)
	}
	if config["auto_mapping"] != nil {
		config["auto_mapping"] = nil // a module that PEFT would import
	}
	if l, ok := config["target_modules"].([]any); ok { // It is a set, written in any order.
		slices.SortFunc(l, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	}

	if raw, err = json.MarshalIndent(config, "", "  "); err == nil {
		err = os.WriteFile(to, append(raw, '\n'), 0o644)
	}

	return int(r), fault.As(fault.Transient, err)
}
