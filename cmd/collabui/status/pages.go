package status

import (
	"strings"

	"github.com/collabui/collabui/internal/config"
)

// RunPage returns the address of the viewer's page about a run, or "" if no viewer is known.
func RunPage(endpoints config.Endpoints, run string) string {
	if endpoints.View == "" {
		return ""
	}

	return strings.TrimSuffix(endpoints.View, "/") + "/#/run/" + run
}

// TemporalPages returns the address of the pages of the namespace in the Temporal UI, or "".
func TemporalPages(endpoints config.Endpoints) string {
	if endpoints.UI == "" {
		return ""
	}

	return endpoints.UI + "/namespaces/" + endpoints.Namespace
}
