// Package examples holds the specifications that the documentation refers to and that the command line runs by name.
//
// It imports no other package of this module. It does no I/O.
package examples

import _ "embed"

// Quickstart is quickstart.yaml.
//
//go:embed quickstart.yaml
var Quickstart []byte

// Curriculum is curriculum.yaml.
//
//go:embed curriculum.yaml
var Curriculum []byte
