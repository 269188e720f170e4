package main

import (
	"strings"

	"github.com/collabui/collabui/internal/process/config"
)

// runPage returns the address of the viewer's page about a run, or "" if no viewer is known.
func runPage(e config.Endpoints, run string) string {
	if e.View == "" {
		return ""
	}

	return strings.TrimSuffix(e.View, "/") + "/#/run/" + run
}

// temporalPages returns the address of the pages of the namespace in the Temporal UI, or "".
func temporalPages(e config.Endpoints) string {
	if e.UI == "" {
		return ""
	}

	return e.UI + "/namespaces/" + e.Namespace
}
