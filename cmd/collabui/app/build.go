package app

import (
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"

	"go.temporal.io/sdk/temporal"

	"github.com/collabui/collabui/internal/policy/tinylm"
	"github.com/collabui/collabui/internal/store"
)

// next is the next release, which this tree becomes.
const next = "0.1.0"

// tag matches a version from a tag of the module, but not a pseudo-version of a commit.
var tag = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[a-z][a-z0-9.]*)?$`)

// Build describes what this program was built from, and what its results depend on.
type Build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"`   // empty if the build does not record it
	Modified bool   `json:"modified"` // the build contains uncommitted changes
	Go       string `json:"go"`
	Kernel   string `json:"kernel"` // arithmetic of the small policy on this machine
	Temporal string `json:"temporal_sdk"`
	Records  int    `json:"record_format"`
}

// ReadBuild reads the version from the build information. released is the version of a release, or empty.
func ReadBuild(released string) Build {
	build := Build{
		Version: "unknown", Go: runtime.Version(), Kernel: tinylm.Kernel(),
		Temporal: temporal.SDKVersion, Records: store.FormatVersion,
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return build
	}
	for _, buildSetting := range info.Settings {
		switch buildSetting.Key {
		case "vcs.revision":
			build.Commit = buildSetting.Value
		case "vcs.modified":
			build.Modified = buildSetting.Value == "true"
		}
	}
	build.Version = versionOf(released, info.Main.Version, build.Commit)

	return build
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
