// Package examples contains the specifications and experiments that the documentation refers to and that the command
// line runs by name.
//
// It does no I/O.
package examples

import "embed"

// Files contains the specifications that experiments change, and the experiments.
//
//go:embed quickstart.yaml full-views.yaml curriculum.yaml experiments/*.yaml
var Files embed.FS
