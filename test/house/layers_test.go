package house

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
)

func TestImportsOnlyGoDown(t *testing.T) {
	report(t, checkLayers(listed(t)))
}

func TestPackagesLinkNothingForbidden(t *testing.T) {
	report(t, checkForbidden(listed(t)))
}

// commandGroups lists the packages with commands. None imports another.
var commandGroups = []string{
	"cmd/collabui/run", "cmd/collabui/results", "cmd/collabui/operate", "cmd/collabui/environments",
	"cmd/collabui/experiment", "cmd/collabui/machine",
}

// layers lists the packages from top to bottom. A package imports its own layer and those below.
var layers = [][]string{
	{"cmd/collabui"},
	commandGroups,
	{"cmd/collabui/preflight", "cmd/collabui/status"},
	{"cmd/collabui/health"},
	{"cmd/collabui/app"},
	{"cmd/collabui/terminal"},
	{"workers"},
	{"workflows"},
	{"activities/roles"},
	{"activities/preflight"},
	{"activities/lifecycle", "activities/experiment", "activities/retrain"},
	{"activities/evaluate", "activities/stage1"},
	{"activities/rollout", "activities/grade", "activities/update", "activities/epoch"},
	{"activities/play", "activities/training", "activities/guard"},
	{"activities"},
	{"trainer"},
	{"internal"},
	{"envadapters"},
	{"fault", "domain", "examples"},
}

// layerOf returns the index of a package's layer, or -1. The longest name of a layer counts.
func layerOf(below string) int {
	found := -1
	longest := 0
	for i, layer := range layers {
		for _, name := range layer {
			if len(name) > longest && len(with([]string{below}, name)) > 0 {
				found = i
				longest = len(name)
			}
		}
	}

	return found
}

// groupOf returns the group of commands to which a package belongs, or "".
func groupOf(below string) string {
	for _, group := range commandGroups {
		if len(with([]string{below}, group)) > 0 {
			return group
		}
	}

	return ""
}

func checkLayers(all []pkg) []problem {
	var problems []problem
	for _, p := range all {
		if strings.HasPrefix(p.below(), "test/") {
			continue
		}

		from := layerOf(p.below())
		if from < 0 {
			problems = append(problems, at(p, "the package is in no layer: add it to layers in test/house"))
			continue
		}

		for _, imported := range inner(p.Imports) {
			to := layerOf(imported)
			if to < 0 {
				problems = append(problems, at(p, "imports %s, which is not part of the product: move it", imported))
			} else if to < from {
				problems = append(problems, at(p, "imports %s, a layer above: move what both need down", imported))
			} else if group := groupOf(imported); group != "" && from == to && group != groupOf(p.below()) {
				problems = append(problems, at(p, "imports %s, another group of commands: move what both need down",
					imported))
			}
		}
	}

	return problems
}

// at returns a problem with a package. The go command does not report where a package imports what.
func at(p pkg, format string, args ...any) problem {
	return problem{file: path.Join(p.below(), p.GoFiles[0]), line: 1, text: "package " + p.below() + ": " +
		fmt.Sprintf(format, args...)}
}

// A ban forbids packages to link others, or, if direct, to import them themselves.
type ban struct {
	of        []string // packages below the module, with everything below them; empty: all of the module outside test
	except    []string
	what      []string // import paths, with everything below them
	exactly   []string // import paths alone
	direct    bool
	otherwise string // what to do instead
}

const (
	browserDriver = "github.com/chromedp"
	temporal      = "go.temporal.io"
	openAI        = "github.com/sashabaranov/go-openai"
)

var bans = []ban{
	{
		of: []string{"domain", "fault"}, what: []string{module}, direct: true,
		otherwise: "domain and fault import nothing of this module",
	},
	{
		of: []string{"internal/care/verify"}, what: []string{browserDriver, temporal},
		otherwise: "fsck and verify link neither a browser driver nor Temporal",
	},
	{
		of: []string{"workflows"}, what: []string{browserDriver},
		otherwise: "workflows know environments by name only",
	},
	{
		of: []string{"workflows"}, direct: true,
		what: []string{
			"net", "os", "io", "math/rand", "github.com/minio", "github.com/redis", module + "/internal/policy",
			module + "/internal/config", module + "/internal/local", module + "/internal/observe",
			module + "/envadapters",
			module + "/trainer",
		},
		exactly:   []string{module + "/internal/store"},
		otherwise: "workflows do no I/O: do it in an activity",
	},
	{
		of:        []string{"envadapters", "trainer"},
		what:      []string{module + "/activities", module + "/workflows", module + "/workers", temporal},
		otherwise: "adapters and trainers do not know the orchestration",
	},
	{
		of: []string{"envadapters"}, what: []string{module + "/internal"},
		otherwise: "adapters import envadapters, domain and fault",
	},
	{
		of: []string{"internal/policy/infer"}, what: []string{module + "/activities"},
		otherwise: "inference needs no activities: share what both need in internal",
	},
	{
		except: []string{"internal/policy/llm"}, what: []string{openAI}, direct: true,
		otherwise: "only internal/policy/llm imports go-openai: use internal/method/chat",
	},
	{
		except: []string{"envadapters/browser"}, what: []string{browserDriver}, direct: true,
		otherwise: "only envadapters/browser imports chromedp",
	},
	{
		except: []string{"internal/store"}, what: []string{"github.com/minio"}, direct: true,
		otherwise: "only internal/store imports minio",
	},
}

// Only the catalog may know more than one adapter or trainer by name; the rest of the program goes through it.
var catalogued = map[string][]string{
	"adapters": {
		"envadapters/androidworld", "envadapters/autowebbench", "envadapters/mind2web", "envadapters/miniwob",
		"envadapters/webtasks",
	},
	"trainers": {"trainer/llamafactory", "trainer/tiny", "trainer/trl"},
}

const catalog = "workers/catalog"

func checkForbidden(all []pkg) []problem {
	var problems []problem
	for _, p := range all {
		if strings.HasPrefix(p.below(), "test/") {
			continue
		}

		for _, b := range bans {
			problems = append(problems, checkBan(p, b)...)
		}

		for _, kind := range []string{"adapters", "trainers"} {
			known := with(inner(p.Imports), catalogued[kind]...)
			if len(known) > 1 && p.below() != catalog {
				problems = append(problems, at(p, "imports %s: only %s imports all %s",
					strings.Join(known, ", "), catalog, kind))
			}
		}
	}

	return problems
}

func checkBan(p pkg, b ban) []problem {
	own := []string{p.below()}
	if len(b.of) > 0 && len(with(own, b.of...)) == 0 || len(with(own, b.except...)) > 0 {
		return nil
	}

	reached, verb := p.Deps, "links"
	if b.direct {
		reached, verb = p.Imports, "imports"
	}
	bad := with(reached, b.what...)
	for _, name := range b.exactly {
		if slices.Contains(reached, name) {
			bad = append(bad, name)
		}
	}

	if len(bad) > 0 {
		shown := bad[:min(len(bad), 3)]
		return []problem{at(p, "%s %s: %s", verb, strings.Join(shown, ", "), b.otherwise)}
	}

	return nil
}

func TestTheChecksOfLayersFindViolations(t *testing.T) {
	of := func(below string, imports ...string) pkg {
		return pkg{ImportPath: module + "/" + below, GoFiles: []string{"a.go"}, Imports: imports, Deps: imports}
	}

	for _, c := range []struct {
		name string
		pkg  pkg
		want []string
	}{
		{name: "down", pkg: of("activities", module+"/internal/store", module+"/domain", "os")},
		{name: "sideways", pkg: of("internal/records/runs", module+"/internal/method/spec")},
		{name: "tests are free", pkg: of("test/kit/testrun", module+"/workflows", browserDriver)},
		{name: "openai in its place", pkg: of("internal/policy/llm", openAI)},
		{name: "up", pkg: of("internal/policy/infer", module+"/workflows"), want: []string{"a layer above"}},
		{name: "a room of activities", pkg: of("activities/stage1", module+"/activities/grade")},
		{
			name: "a room below", pkg: of("activities/grade", module+"/activities/stage1"),
			want: []string{"a layer above"},
		},
		{name: "the common part", pkg: of("activities", module+"/activities/play"), want: []string{"a layer above"}},
		{name: "the test kit", pkg: of("activities", module+"/test/kit/testrun"), want: []string{"not part of the"}},
		{name: "an unknown layer", pkg: of("helpers"), want: []string{"in no layer"}},
		{name: "domain imports", pkg: of("domain", module+"/fault"), want: []string{"import nothing of this module"}},
		{
			name: "verify with Temporal", pkg: of("internal/care/verify", temporal+"/sdk/client"),
			want: []string{"fsck"},
		},
		{
			name: "workflow with a browser", pkg: of("workflows", browserDriver+"/chromedp"),
			want: []string{"workflows know environments by name", "only envadapters/browser"},
		},
		{name: "workflow with a file", pkg: of("workflows", "os"), want: []string{"do it in an activity"}},
		{name: "workflow with a store", pkg: of("workflows", module+"/internal/store"), want: []string{"an activity"}},
		{name: "workflow with records", pkg: of("workflows", module+"/internal/records/runs")},
		{name: "adapter with Temporal", pkg: of("envadapters/a", temporal+"/sdk"), want: []string{"the orchestration"}},
		{
			name: "adapter with internal", pkg: of("envadapters/a", module+"/internal/store"),
			want: []string{"a layer above", "adapters import envadapters"},
		},
		{
			name: "infer with activities", pkg: of("internal/policy/infer", module+"/activities"),
			want: []string{"a layer above", "inference needs no activities"},
		},
		{name: "openai elsewhere", pkg: of("activities", openAI), want: []string{"only internal/policy/llm"}},
		{name: "minio elsewhere", pkg: of("activities", "github.com/minio/v7"), want: []string{"only internal/store"}},
		{
			name: "a second catalog", pkg: of("activities", module+"/trainer/tiny", module+"/trainer/trl"),
			want: []string{"only workers/catalog imports all trainers"},
		},
		{name: "the catalog", pkg: of(catalog, module+"/trainer/tiny", module+"/trainer/trl")},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := append(checkLayers([]pkg{c.pkg}), checkForbidden([]pkg{c.pkg})...)
			mustFind(t, got, c.want...)
		})
	}
}
