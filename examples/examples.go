// Package examples holds the specifications that the documentation speaks of; the command line knows them by name.
package examples

import _ "embed"

// Quickstart is examples/quickstart.yaml.
//
//go:embed quickstart.yaml
var Quickstart []byte

// Curriculum is examples/curriculum.yaml.
//
//go:embed curriculum.yaml
var Curriculum []byte
