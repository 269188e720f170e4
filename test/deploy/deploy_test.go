package deploy

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"gopkg.in/yaml.v3"
)

const root = "../.."

// text returns a file of deploy/.
func text(t *testing.T, name string) string {
	t.Helper()

	raw, err := os.ReadFile(filepath.Join(root, "deploy", name))
	if err != nil {
		t.Fatal(err)
	}

	return string(raw)
}

// files returns the text of the files of deploy/ that name variables of collabui, by their paths.
func files(t *testing.T) map[string]string {
	t.Helper()

	all := map[string]string{}
	for _, below := range []string{"images", "compose", "helm"} {
		folder := filepath.Join(root, "deploy", below)
		err := filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			raw, err := os.ReadFile(name)
			all[strings.TrimPrefix(filepath.ToSlash(name), root+"/deploy/")] = string(raw)

			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}

	return all
}

// decoded decodes YAML, with merged keys.
func decoded[T any](t *testing.T, what, raw string) T {
	t.Helper()

	var v T
	if err := yaml.Unmarshal([]byte(raw), &v); err != nil {
		t.Fatalf("%s = %v, want YAML", what, err)
	}

	return v
}

var variable = regexp.MustCompile(`COLLABUI_[A-Z0-9_]*[A-Z0-9]`)

// known returns the variables that the code names.
var known = sync.OnceValues(func() ([]string, error) {
	var all []string
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == "test" || d.Name() == "testdata" || d.Name() == ".git") {
			if err == nil {
				err = filepath.SkipDir
			}
			return err
		}
		if filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		raw, err := os.ReadFile(name)
		all = append(all, variable.FindAllString(string(raw), -1)...)

		return err
	})

	return all, err
})

func TestVariablesExist(t *testing.T) {
	names, err := known()
	if err != nil || len(names) < 20 {
		t.Fatalf("the code names %d variables, %v; want at least 20", len(names), err)
	}
	for file, raw := range files(t) {
		for _, v := range variable.FindAllString(raw, -1) {
			if base := strings.TrimSuffix(v, "_FILE"); !slices.Contains(names, base) {
				t.Errorf("%s names %s, want a variable that the code reads", file, v)
			}
		}
	}
}

// program is collabui, built for this test.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "collabui-deploy-*")
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "collabui")
	out, err := exec.Command("go", "build", "-C", root, "-o", name, "./cmd/collabui").CombinedOutput()
	if err != nil {
		_, _ = os.Stderr.Write(out)
	}

	return name, err
})

func TestMain(m *testing.M) {
	code := m.Run()
	if name, err := program(); err == nil {
		_ = os.RemoveAll(filepath.Dir(name))
	}
	os.Exit(code)
}

var (
	flag  = regexp.MustCompile(`--[a-z][a-z-]*`)
	helps = map[string][]string{}
)

// flagsOf returns the flags of a command, or nil if there is no such command.
func flagsOf(t *testing.T, command string) []string {
	t.Helper()

	name, err := program()
	if err != nil {
		t.Fatal(err)
	}
	if _, cached := helps[command]; !cached {
		out, err := exec.Command(name, command, "--help").CombinedOutput()
		if err != nil || !strings.Contains(string(out), "collabui "+command) {
			out = nil
		}
		helps[command] = flag.FindAllString(string(out), -1)
	}

	return helps[command]
}

// checkCommand checks the arguments of collabui.
func checkCommand(t *testing.T, where string, args []string) {
	t.Helper()

	if len(args) == 0 {
		t.Errorf("%s runs collabui without a command, want one", where)
		return
	}
	flags := flagsOf(t, args[0])
	if flags == nil {
		t.Errorf("%s runs collabui %s, want a command that exists", where, args[0])
	}
	for _, a := range args[1:] {
		if f := flag.FindString(a); strings.HasPrefix(a, "--") && !slices.Contains(flags, f) {
			t.Errorf("%s runs collabui %s with %s, want one of %s", where, args[0], f, flags)
		}
	}
}

// after returns the value of a flag among arguments, or "".
func after(args []string, name string) string {
	for i, a := range args {
		if v, ok := strings.CutPrefix(a, name+"="); ok {
			return v
		}
		if a == name && i+1 < len(args) {
			return args[i+1]
		}
	}

	return ""
}

// port returns the port of HOST:PORT, or of a URL.
func port(addr string) string {
	if _, rest, ok := strings.Cut(addr, "://"); ok {
		addr, _, _ = strings.Cut(rest, "/")
	}

	return addr[strings.LastIndexByte(addr, ':')+1:]
}

var secretName = regexp.MustCompile(`(?i)(^|_)(secret|password|pwd|key|token|credential)s?(_|$)`)

// holdsSecret reports whether a variable would hold a secret, rather than the path of a file with one.
func holdsSecret(name string) bool {
	return secretName.MatchString(name) && !strings.HasSuffix(name, "_FILE") && name != "COLLABUI_MODEL_KEYS" &&
		name != "COLLABUI_TEMPORAL_TLS_KEY" && name != "TEMPORAL_TLS_KEY" // these contain paths
}

var versioned = regexp.MustCompile(`^[a-z0-9./-]+(:[A-Za-z0-9_.-]+|@sha256:[0-9a-f]{64})$`)

// checkImage checks that an image has a version.
func checkImage(t *testing.T, where, image string) {
	t.Helper()

	if !versioned.MatchString(image) || strings.HasSuffix(image, ":latest") {
		t.Errorf("%s runs the image %q, want one with a version", where, image)
	}
}
