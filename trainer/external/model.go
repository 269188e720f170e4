package external

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
)

// ModelOf returns the base model in a folder. One that comes with code is an invalid fault; see NoCode.
func ModelOf(dir string) (domain.BaseModel, error) {
	digest, err := ModelDigest(dir)
	if err == nil {
		err = NoCode(dir)
	}

	return domain.BaseModel{Name: filepath.Base(filepath.Clean(dir)), Digest: digest}, err
}

const (
	indexFile     = "model.safetensors.index.json"
	tokenizerFile = "tokenizer.json"
)

// ModelDigest identifies the model in a folder without reading its weights: configuration, index and tokenizer by their
// bytes, weights by name and size. A folder without a configuration, or with missing or incomplete weights, is an
// invalid fault.
func ModelDigest(dir string) (string, error) {
	config, err := os.ReadFile(filepath.Join(dir, "config.json"))
	if err != nil {
		return "", fault.New(fault.Invalid,
			"no model in %s: config.json: %w; copy the weights there before the worker starts", dir, err)
	}
	text := "config " + store.Sum(config) + "\n"

	shards := map[string]bool{}
	for _, name := range []string{indexFile, tokenizerFile} {
		raw, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			continue // Small models have one file and no index; some tokenizers have another form.
		}
		text += name + " " + store.Sum(raw) + "\n"
		if name == indexFile {
			shards = indexed(raw)
		}
	}

	if len(shards) == 0 {
		found, _ := filepath.Glob(filepath.Join(dir, "*.safetensors"))
		for _, s := range found {
			shards[filepath.Base(s)] = true
		}
	}
	if len(shards) == 0 {
		return "", fault.New(fault.Invalid,
			"no weights in %s: no file *.safetensors; copy them there before the worker starts", dir)
	}

	for _, s := range slices.Sorted(maps.Keys(shards)) {
		size, err := WholeTensors(filepath.Join(dir, s))
		if err != nil {
			return "", fault.New(fault.Invalid, "the weights in %s are not whole: %w", dir, err)
		}
		text += fmt.Sprintf("%s %d\n", s, size)
	}

	return store.Sum([]byte(text)), nil
}

// indexed returns the files that an index of weights names; the map is empty if it cannot be read.
func indexed(raw []byte) map[string]bool {
	var index struct {
		Weights map[string]string `json:"weight_map"`
	}
	shards := map[string]bool{}
	if json.Unmarshal(raw, &index) == nil {
		for _, text := range index.Weights {
			shards[text] = true
		}
	}

	return shards
}
