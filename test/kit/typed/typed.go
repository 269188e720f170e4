// Package typed reads the commands that the first pages show to their readers, so that a test can type them.
package typed

import (
	"regexp"
	"strings"
)

// Pages lists the pages in the order in which a newcomer reads them, below the root of the repository.
var Pages = []string{"README.md", "docs/run-locally.md"}

var (
	span = regexp.MustCompile("`([^`]+)`")
	// inline matches a command in a sentence.
	inline = regexp.MustCompile(`^(?:bin/collabui|make) `)
	// row matches a row of commands: its first span names collabui, and the others leave the name out.
	row     = regexp.MustCompile("^\\| [a-z ]+ \\| `collabui ")
	command = regexp.MustCompile(`^[a-z]+(?: |$)`)
)

// Commands returns the commands of a page in their order: the lines of its shell blocks, commands in sentences that
// begin with make or bin/collabui, and commands in tables. `collabui ` and `bin/collabui ` are left out.
func Commands(page string) []string {
	var out []string
	add := func(text string) {
		text = strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(text), "bin/"), "collabui ")
		if text != "" {
			out = append(out, text)
		}
	}

	language := ""
	fenced := false
	for line := range strings.Lines(page) {
		if name, found := strings.CutPrefix(line, "```"); found {
			fenced = !fenced
			language = strings.TrimSpace(name)
			continue
		}
		if fenced {
			if language == "" || language == "sh" {
				text, _, _ := strings.Cut(line, "#")
				add(text)
			}
			continue
		}

		inRow := row.MatchString(line)
		for _, m := range span.FindAllStringSubmatch(strings.ReplaceAll(line, `\|`, "|"), -1) {
			if inline.MatchString(m[1]) || inRow && command.MatchString(m[1]) {
				add(m[1])
			}
		}
	}

	return out
}

// Untyped has the commands that no test types, with the reasons.
var Untyped = map[string]string{
	"make train": "takes minutes; TestKill plays smaller runs",
	"make test":  "runs this test",
	"make help":  "needs no data folder",

	"sha256sum --check --ignore-missing SHA256SUMS":          "needs a release",
	"sudo apt install ./collabui_0.1.0_amd64.deb":            "needs a release",
	"train /usr/share/doc/collabui/examples/quickstart.yaml": "needs a release, and minutes",

	"train":      "continues a run, as another command of its row explains",
	"export RUN": "is another command of the page, without its folder",

	"pause RUN --why …":       "needs an open run; see TestAPersonPausesResumesAndStops",
	"resume RUN":              "needs an open run; see TestAPersonPausesResumesAndStops",
	"stop RUN":                "needs an open run; see TestAPersonPausesResumesAndStops",
	"set RUN budget.money=40": "needs an open run",
	"plan my.yaml":            "plays a pilot",
	"import FILE":             "needs a file of rows",
	"experiment quickstart":   "takes an hour",
	"export --policy DIGEST":  "needs the digest of a policy",
	"eval RUN --environment miniwob --split mobile-62 --spec mobile.yaml": "needs the official pages",
}
