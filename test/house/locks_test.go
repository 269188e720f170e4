package house

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestWhatIsInstalledHasAHash reads the installations of scripts and images: Python packages by lock files with hashes,
// Node packages by package-lock, and other downloads by their SHA-256.
func TestWhatIsInstalledHasAHash(t *testing.T) { report(t, checkInstalls(installers(t), locks(t))) }

// installers returns the files that install something.
func installers(t *testing.T) (files []source) {
	t.Helper()
	for _, pattern := range []string{
		"Makefile", "scripts/*.sh", "deploy/*/*.sh", "deploy/*/Dockerfile", "deploy/*/Containerfile",
		"deploy/helm/*/files/*", "deploy/*/*.yaml", "deploy/helm/*/templates/*.yaml",
	} {
		files = append(files, filesLike(t, pattern)...)
	}

	return files
}

// locks returns the lock files and their sources.
func locks(t *testing.T) []source {
	t.Helper()

	return append(filesLike(t, "scripts/locks/*.*"), filesLike(t, "deploy/androidworld/image.*")...)
}

// filesLike reads the files that match a pattern below the root of the repository.
func filesLike(t *testing.T, pattern string) (files []source) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(root, pattern))
	if err != nil || len(found) == 0 {
		t.Fatalf("%s matches %v (%v), want files", pattern, found, err)
	}
	for _, name := range found {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		below, err := filepath.Rel(root, name)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, source{name: filepath.ToSlash(below), text: string(raw)})
	}

	return files
}

var (
	pipInstall = regexp.MustCompile(`\bpip3? (?:install|download)\b`)
	pipHashed  = regexp.MustCompile(`--require-hashes\b.*--only-binary :all:|--only-binary :all:.*--require-hashes\b`)
	gitCommit  = regexp.MustCompile(`git\+https://[^"]*@\$([A-Z_]+)`)
	otherTool  = regexp.MustCompile(`\b(?:uv pip sync|uvx|pipx|conda|npx|yarn|pnpm)\b`)
	npm        = regexp.MustCompile(`\bnpm (?:install|i|ci|add)\b`)
	download   = regexp.MustCompile(`\b(?:curl|wget)\b[^&|;]*https?://[a-zA-Z]`)
	message    = regexp.MustCompile(`\becho "[^"]*"`)
	command    = regexp.MustCompile(`&&|\|\||;|\n`)
	require    = regexp.MustCompile(`(?m)^([A-Za-z0-9._-]+)==`)
	hash       = regexp.MustCompile(`--hash=sha256:[0-9a-f]{64}\b`)
)

// checkInstalls reports installations without hashes, and lock files without hashes.
func checkInstalls(files, locks []source) (problems []problem) {
	for _, f := range files {
		whole := strings.ReplaceAll(f.text, "\\\n", "\t") // of commands, with as many line ends as before below
		for i, line := range strings.Split(whole, "\n") {
			if strings.HasPrefix(strings.TrimSpace(line), "#") {
				continue
			}
			number := 1 + i + strings.Count(strings.Join(strings.Split(whole, "\n")[:i], ""), "\t")
			for _, text := range installs(f, line) {
				problems = append(problems, problem{file: f.name, line: number, text: text})
			}
		}
	}

	return append(problems, checkLocks(locks)...)
}

// installs returns the faults of the installations in a line.
func installs(f source, line string) (wrong []string) {
	line = message.ReplaceAllStringFunc(line, func(text string) string {
		if strings.Contains(text, "  /") { // sums for sha256sum
			return text
		}

		return "echo"
	})
	if download.MatchString(line) && !strings.Contains(line, "sha256sum -c") {
		wrong = append(wrong, "a download without a sum: check it with sha256sum -c in the same command")
	}
	for _, c := range command.Split(line, -1) {
		if pipInstall.MatchString(c) && !pipHashed.MatchString(c) && !commit(f, c) {
			wrong = append(wrong, "pip without hashes: add --require-hashes --only-binary :all: and a lock file of "+
				"scripts/lock.sh")
		}
		if otherTool.MatchString(c) {
			wrong = append(wrong, "installs without hashes: use pip with a lock file, or npm ci")
		}
		if npm.MatchString(c) && (!strings.Contains(c, "npm ci ") || !strings.Contains(c, "--ignore-scripts")) {
			wrong = append(wrong, "npm without a lock, or with scripts of packages: use npm ci --ignore-scripts")
		}
	}

	return wrong
}

// commit reports whether a command installs only a git commit, whose name is a hash of its files.
func commit(f source, c string) bool {
	m := gitCommit.FindStringSubmatch(c)

	return m != nil && strings.Contains(c, "--no-deps") && strings.Contains(c, "--no-build-isolation") &&
		regexp.MustCompile(`(?m)^ARG `+m[1]+`=[0-9a-f]{40}$`).MatchString(f.text)
}

// checkLocks reports missing lock files, missing packages in them, and missing hashes.
func checkLocks(files []source) (problems []problem) {
	plain := strings.NewReplacer("_", "-", ".", "-")
	locked := map[string]map[string]bool{} // packages by the name of the lock
	for _, f := range files {
		if path.Ext(f.name) != ".txt" {
			continue
		}
		name := strings.TrimSuffix(f.name, ".txt")
		locked[name] = map[string]bool{}
		starts := require.FindAllStringSubmatchIndex(f.text, -1)
		for i, at := range starts {
			end := len(f.text)
			if i+1 < len(starts) {
				end = starts[i+1][0]
			}
			of := f.text[at[2]:at[3]]
			locked[name][plain.Replace(strings.ToLower(of))] = true
			if !hash.MatchString(f.text[at[0]:end]) {
				line := 1 + strings.Count(f.text[:at[0]], "\n")
				problems = append(problems, problem{f.name, line, of + " has no hash: run scripts/lock.sh"})
			}
		}
	}
	for _, f := range files {
		if path.Ext(f.name) != ".in" {
			continue
		}
		name := strings.TrimSuffix(f.name, ".in")
		for _, m := range require.FindAllStringSubmatchIndex(f.text, -1) {
			of := f.text[m[2]:m[3]]
			if !locked[name][plain.Replace(strings.ToLower(of))] {
				line := 1 + strings.Count(f.text[:m[0]], "\n")
				problems = append(problems, problem{f.name, line, of + " is not locked: run scripts/lock.sh"})
			}
		}
	}

	return problems
}

func TestHouseFindsWhatIsInstalledWithoutAHash(t *testing.T) {
	const sum = "--hash=sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	for text, wants := range map[string][]string{
		"python -m pip install x==1":                                             {"a.sh:1: pip without hashes"},
		"true\nRUN a && \\\n  pip install -r b.txt":                              {"a.sh:2: pip without hashes"},
		"pip download --require-hashes -r b.txt":                                 {"pip without hashes"},
		"pip install --require-hashes --only-binary :all: -r b.txt":              {},
		"pip install --require-hashes --only-binary :all: -r b && pip install x": {"pip without hashes"},
		`pip install --no-deps --no-build-isolation "x @ git+https://h/x@$C"`:    {"pip without hashes"},
		"# pip install x":                {},
		`echo "pip install failed"`:      {},
		"npm install --ignore-scripts x": {"npm without a lock"},
		"npm ci":                         {"npm without a lock"},
		"npm ci --ignore-scripts":        {},
		"npx x":                          {"without hashes"},
		"uvx x":                          {"without hashes"},
		"curl -o x https://example.com/x && unzip x":               {"a download without a sum"},
		"wget https://example.com/x":                               {"a download without a sum"},
		`curl --fail "http://$address/health"`:                     {},
		"curl -fsS http://127.0.0.1:8000/health":                   {},
		`curl -o /x https://h/x && echo "$S  /x" | sha256sum -c -`: {},
	} {
		mustFind(t, checkInstalls([]source{{name: "a.sh", text: text}}, nil), wants...)
	}
	const c = `pip install --no-deps --no-build-isolation "x @ git+https://h/x@$C"`
	mustFind(t, checkInstalls([]source{{name: "a", text: "ARG C=" + strings.Repeat("a", 40) + "\nRUN " + c}}, nil))

	mustFind(t, checkInstalls(nil, []source{
		{name: "a.in", text: "# x\nA.b==1\nc==2\n"}, {name: "a.txt", text: "a-b==1 \\\n    " + sum + "\nd==1\n"},
	}), "a.txt:3: d has no hash", "a.in:3: c is not locked")
}
