package main

import (
	"io"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/temporal"

	"github.com/collabui/collabui/internal/policy/tinylm"
	"github.com/collabui/collabui/internal/store"
)

// next is the next release, which this tree becomes.
const next = "0.1.0"

// released is the version of a release. scripts/release.sh sets it when it builds a release.
var released string

// tag matches a version from a tag of the module, but not a pseudo-version of a commit.
var tag = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[a-z][a-z0-9.]*)?$`)

// version describes what this program was built from, and what its results depend on.
type version struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"`   // empty if the build does not record it
	Modified bool   `json:"modified"` // the build contains uncommitted changes
	Go       string `json:"go"`
	Kernel   string `json:"kernel"` // arithmetic of the small policy on this machine
	Temporal string `json:"temporal_sdk"`
	Records  int    `json:"record_format"`
}

func versionCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version of the program and of what its results depend on",
		Example: "  collabui version --json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := buildVersion()
			return a.print(v, v.text)
		},
	}
}

// buildVersion reads the version from the build information.
func buildVersion() version {
	v := version{
		Version: "unknown", Go: runtime.Version(), Kernel: tinylm.Kernel(),
		Temporal: temporal.SDKVersion, Records: store.FormatVersion,
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	v.Version = versionOf(released, info.Main.Version, v.Commit)

	return v
}

// versionOf returns the version of a release, which comes from scripts/release.sh or a tag of the module. For any other
// build it returns the next release's version with -dev and the beginning of the commit.
func versionOf(released, module, commit string) string {
	switch {
	case released != "":
		return released
	case tag.MatchString(module):
		return strings.TrimPrefix(module, "v")
	case commit == "":
		return next + "-dev"
	default:
		return next + "-dev+" + commit[:min(len(commit), 12)]
	}
}

func (v version) text(w io.Writer) {
	commit := v.Commit
	switch {
	case commit == "":
		commit = "unknown"
	case v.Modified:
		commit += " with uncommitted changes"
	}
	say(w, "collabui %s", v.Version)
	say(w, "  commit         %s", commit)
	say(w, "  Go             %s", v.Go)
	say(w, "  policy kernel  %s", v.Kernel)
	say(w, "  Temporal SDK   %s", v.Temporal)
	say(w, "  record format  %d", v.Records)
}
