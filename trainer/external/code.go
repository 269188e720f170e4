package external

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/config"
)

// trustCode is the option with which transformers runs the code of a model. An operator who lists it allows models
// with code.
const trustCode = "trust_remote_code"

// codeFiles match the files of a model's folder that are code, or weights in a form that is loaded by running code.
var codeFiles = []string{"*.py", "pytorch_model*.bin", "adapter_model*.bin"}

// codeKeys are the keys of a model's configuration with which transformers and PEFT look for code to import.
var codeKeys = []string{"auto_map", "custom_pipelines", "megatron_config"}

// NoCode returns an invalid fault if a folder has files or a configuration by which loading a model runs code that
// comes with it.
func NoCode(dir string) error {
	if slices.Contains(config.TrainerOptions(), trustCode) {
		return nil
	}
	found, err := matching(dir, codeFiles...)
	if err != nil {
		return err
	}
	if len(found) > 0 {
		return codeFault(found[0], "is code, or weights that are loaded by running code",
			"remove it, since weights must be in files *.safetensors")
	}

	return NoCodeNamed(dir)
}

// NoCodeNamed returns an invalid fault if a configuration in a folder names code to run.
func NoCodeNamed(dir string) error {
	if slices.Contains(config.TrainerOptions(), trustCode) {
		return nil
	}
	found, err := matching(dir, "*config*.json")
	if err != nil {
		return err
	}
	for _, file := range found {
		raw, err := os.ReadFile(file)
		if err != nil {
			return fault.As(fault.Invalid, err)
		}
		var all any
		if err := json.Unmarshal(noNumber.ReplaceAll(raw, []byte("null")), &all); err != nil {
			return fault.New(fault.Invalid, "%s: %w", file, err)
		}
		if key := codeKey(all); key != "" {
			return codeFault(file, "has the key "+key+", which names code to run",
				"remove the key, if transformers knows the model without it")
		}
	}

	return nil
}

// matching returns the files of a folder whose names match a pattern.
func matching(dir string, patterns ...string) (found []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, entry := range entries {
		for _, pattern := range patterns {
			if ok, _ := filepath.Match(pattern, entry.Name()); ok {
				found = append(found, filepath.Join(dir, entry.Name()))
			}
		}
	}

	return found, fault.As(fault.Invalid, err)
}

// codeFault returns the fault of a folder that has code.
func codeFault(file, what, mend string) error {
	return fault.New(fault.Invalid, "%s %s: %s, or list %s in %s where you trust the folders of models",
		file, what, mend, trustCode, config.EnvTrainerOptions)
}

// noNumber matches what Python reads and writes as numbers and JSON does not have.
var noNumber = regexp.MustCompile(`-?\b(NaN|Infinity)\b`)

// codeKey returns a key of codeKeys that has a value, at any depth, or "".
func codeKey(value any) string {
	switch v := value.(type) {
	case []any:
		for _, x := range v {
			if key := codeKey(x); key != "" {
				return key
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if slices.Contains(codeKeys, name) && v[name] != nil {
				return name
			}
			if key := codeKey(v[name]); key != "" {
				return key
			}
		}
	}

	return ""
}
