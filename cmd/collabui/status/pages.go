package status

import (
	"strings"

	"github.com/collabui/collabui/internal/process/config"
)

// RunPage returns the address of the viewer's page about a run, or "" if no viewer is known.
func RunPage(e config.Endpoints, run string) string {
	if e.View == "" {
		return ""
	}

	return strings.TrimSuffix(e.View, "/") + "/#/run/" + run
}

// TemporalPages returns the address of the pages of the namespace in the Temporal UI, or "".
func TemporalPages(e config.Endpoints) string {
	if e.UI == "" {
		return ""
	}

	return e.UI + "/namespaces/" + e.Namespace
}
