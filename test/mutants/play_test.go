//go:build mutants

package mutants

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	some   = flag.Int("some", 0, "number of mutants to play, those whose turn it is; 0 plays all, and records them")
	turn   = flag.Uint64("turn", 0, "decides whose turn it is; 0 is the number of the day")
	budget = flag.Duration("budget", 0, "time after which no other mutant is begun; 0 has no end")
)

// TestEveryMutantIsFound plants the mutants, and expects the tests that they name to fail.
func TestEveryMutantIsFound(t *testing.T) {
	all := All()
	chosen := all
	if *some > 0 {
		if *turn == 0 {
			*turn = uint64(time.Now().Unix() / (24 * 60 * 60))
		}
		chosen = nil
		for _, i := range Rotation(len(all), *some, *turn) {
			chosen = append(chosen, all[i])
		}
		t.Logf("%d of %d mutants; the same again: make mutants MUTANTS=%d TURN=%d", len(chosen), len(all), *some, *turn)
	}

	var mu sync.Mutex
	began := time.Now()
	t.Run("planted", func(t *testing.T) {
		for _, m := range chosen {
			t.Run(m.Name, func(t *testing.T) {
				t.Parallel()
				if *budget > 0 && time.Since(began) > *budget {
					t.Skipf("the budget of %v is spent: they have their turn another day", *budget)
				}
				f, ok := play(t, m)
				if !ok || *some > 0 {
					return
				}
				mu.Lock()
				defer mu.Unlock()
				if err := WriteRecord(RecordFile, f, all); err != nil {
					t.Error(err)
				}
			})
		}
	})
}

// play runs the tests that must find a mutant, and returns the first one that did.
func play(t *testing.T, m Mutant) (Found, bool) {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	file, text, err := m.Plant(root)
	if err != nil {
		t.Fatal(err)
	}

	began := time.Now()
	out, err := run(t, root, file, text, m.Find)
	command := "go test " + strings.Join(m.Find, " ")
	var exit *exec.ExitError
	by, failed := failure(out)
	switch {
	case err == nil:
		t.Errorf("%s: %s passes, want it to fail: add a test that finds this bug, or name the one that does",
			m.Name, command)
	case !errors.As(err, &exit) || !failed:
		t.Errorf("%s: %s printed, want a test that fails:\n%.3000s", m.Name, command, out)
	case *some == 0 && !passes(root, m.Find):
		t.Errorf("%s: %s fails without the mutant, too, want it to pass: mend it first", m.Name, command)
	default:
		t.Logf("%s: found by %s in %v", m.Name, by, time.Since(began).Round(100*time.Millisecond))

		return Found{
			Name: m.Name, On: began.UTC().Format(time.DateOnly), Commit: commit(t, root), By: by,
			Seconds: float64(time.Since(began).Round(100*time.Millisecond)) / float64(time.Second),
		}, true
	}

	return Found{}, false
}

// sound maps the arguments of tests to a function that runs them without a mutant.
var sound sync.Map

// passes reports whether tests pass without any mutant.
func passes(root string, find []string) bool {
	run, _ := sound.LoadOrStore(strings.Join(find, " "), sync.OnceValue(func() bool {
		cmd := exec.Command("go", append([]string{"test", "-vet=off", "-failfast"}, find...)...)
		cmd.Dir = root

		return cmd.Run() == nil
	}))

	return run.(func() bool)()
}

var (
	failing = regexp.MustCompile(`(?m)^--- FAIL: (\w+)`)
	hanging = regexp.MustCompile(`(?m)^panic: test timed out.*\n(?:.*\n)??\s+running tests:\n\s+(\w+)`)
)

// failure returns the first test that failed or hung, and reports whether any did. A failed compilation does not count.
func failure(out string) (by string, ok bool) {
	if strings.Contains(out, "[build failed]") || strings.Contains(out, "[setup failed]") {
		return "", false
	}
	for _, kind := range []*regexp.Regexp{failing, hanging} {
		if found := kind.FindStringSubmatch(out); found != nil {
			return found[1], true
		}
	}

	return "a panic", strings.Contains(out, "\npanic: ") || strings.HasPrefix(out, "panic: ")
}

// run runs tests on the tree with another text of a file, which the compiler reads instead.
func run(t *testing.T, root, file, text string, find []string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	mutant, overlay := filepath.Join(dir, "mutant.go"), filepath.Join(dir, "overlay.json")
	raw, err := json.Marshal(map[string]any{"Replace": map[string]string{file: mutant}})
	if err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string]string{mutant: text, overlay: string(raw)} {
		if err := os.WriteFile(name, []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", append([]string{
		"test", "-vet=off", "-count=1", "-failfast", "-timeout", "5m", "-overlay", overlay}, find...)...)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()

	return string(out), err
}

func commit(t *testing.T, root string) string {
	t.Helper()
	cmd := exec.Command("git", "rev-parse", "--short", "HEAD")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}

	return strings.TrimSpace(string(out))
}
