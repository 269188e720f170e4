package rows

import (
	"bytes"
	"strings"

	"gopkg.in/yaml.v3"
)

// Config is a configuration of an exported folder: one file, under the name by which the package datasets loads it.
type Config struct {
	Name     string
	Set      string // the set's name
	File     File
	Rows     int
	Bytes    int
	Features []Feature
}

// Configs returns the configurations of exported files. A file without rows has no configuration: it cannot be loaded.
func Configs(files map[string][]byte, sets ...Set) []Config {
	var out []Config
	for _, set := range sets {
		for _, file := range set.Files() {
			raw := files[file.Name]
			if len(raw) == 0 {
				continue
			}
			out = append(out, Config{
				Name: strings.TrimSuffix(file.Name, ".jsonl"), Set: set.Name, File: file,
				Rows: bytes.Count(raw, []byte("\n")), Bytes: len(raw), Features: set.Features(file),
			})
		}
	}

	return out
}

// card is the YAML with which a README.md of a data set begins.
type card struct {
	Title   string     `yaml:"pretty_name"`
	Licence string     `yaml:"license"`
	Tasks   []string   `yaml:"task_categories"`
	Tags    []string   `yaml:"tags"`
	Configs []cardFile `yaml:"configs,omitempty"`
	Info    []cardInfo `yaml:"dataset_info,omitempty"`
}

type cardFile struct {
	Name  string     `yaml:"config_name"`
	Files []cardData `yaml:"data_files"`
}

type cardData struct {
	Split string `yaml:"split"`
	Path  string `yaml:"path"`
}

type cardInfo struct {
	Name     string      `yaml:"config_name"`
	Features []Feature   `yaml:"features"`
	Splits   []cardSplit `yaml:"splits"`
	Download int         `yaml:"download_size"`
	Size     int         `yaml:"dataset_size"`
}

// cardSplit is a split with its number of rows, which the package datasets compares with what it reads.
type cardSplit struct {
	Name  string `yaml:"name"`
	Bytes int    `yaml:"num_bytes"`
	Rows  int    `yaml:"num_examples"`
}

// SplitTrain is the only split of a configuration.
const SplitTrain = "train"

// CardHeader returns what a README.md must begin with so that the package datasets, and sites that show data sets, know
// the configurations of its folder.
func CardHeader(title string, configs []Config) ([]byte, error) {
	c := card{
		Title: title, Licence: "unknown", Tasks: []string{"text-generation"}, Tags: []string{"collabui", "gui-agents"},
	}
	for _, config := range configs {
		data := []cardData{{Split: SplitTrain, Path: config.File.Name}}
		c.Configs = append(c.Configs, cardFile{Name: config.Name, Files: data})
		c.Info = append(c.Info, cardInfo{
			Name: config.Name, Features: config.Features, Download: config.Bytes, Size: config.Bytes,
			Splits: []cardSplit{{Name: SplitTrain, Bytes: config.Bytes, Rows: config.Rows}},
		})
	}

	var out bytes.Buffer
	out.WriteString("---\n")
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(c); err != nil {
		return nil, err
	}
	out.WriteString("---\n")

	return out.Bytes(), enc.Close()
}
