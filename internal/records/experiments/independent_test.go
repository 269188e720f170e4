package experiments_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/collabui/collabui/internal/experiment"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/records/experiments"
	"github.com/collabui/collabui/internal/records/runs"
)

// TestOtherPackagesComputeTheSameTable makes scripts/recompute.py compute a table again, for systems that succeed at
// random on templates of unequal difficulty, with missing episodes.
func TestOtherPackagesComputeTheSameTable(t *testing.T) {
	t.Parallel()
	python := os.Getenv("COLLABUI_STATS_PYTHON")
	if python == "" {
		python = "python3"
	}
	packages := exec.CommandContext(t.Context(), python, "-c", "import evalconfidence, scipy, statsmodels")
	if out, err := packages.CombinedOutput(); err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		t.Skipf("%s lacks a package (pip install evalconfidence==0.1.1 statsmodels; COLLABUI_STATS_PYTHON names "+
			"another interpreter): %v %s", python, err, lines[len(lines)-1])
	}

	r := rand.New(rand.NewPCG(3, 4))
	x := experiment.Experiment{Name: "x", Seeds: 6}
	for i, kind := range []string{"trained", "trained-silent", "imitation", "trained-alone"} {
		x.Contrasts = append(x.Contrasts, experiment.Contrast{
			Of: "a/" + kind, Minus: "a/base", Split: "val", Primary: i == 0,
		})
	}
	result := experiments.Result{
		Systems: make([]map[string]runs.Result, x.Seeds), Figures: map[string]experiment.Figures{},
	}
	for k := range result.Systems {
		result.Systems[k] = map[string]runs.Result{}
	}
	lines := [][]string{experiments.Columns}
	played := map[string][][]experiment.Episode{}
	for i, kind := range []string{"base", "trained", "trained-silent", "imitation", "trained-alone"} {
		k, err := rules.ParseSystemKind(kind)
		if err != nil {
			t.Fatal(err)
		}
		p := experiment.Play{Arm: "a", Kind: k, Split: "val"}
		for seed := range x.Seeds {
			episodes, won, n := playedAtRandom(r, 0.3+0.1*float64(i)), 0, 0
			for _, e := range episodes {
				if !e.Missing {
					won, n = won+int(e.Success), n+1
				}
			}
			played[p.String()] = append(played[p.String()], episodes)
			result.Systems[seed][p.String()] = runs.NewResult(kind, "val", won, n, len(episodes)-n, "")
			lines = append(lines, experiments.Lines(p, seed+1, episodes)...)
		}
		result.Figures[p.String()] = experiment.FiguresOf(played[p.String()])
	}
	result.Rows = x.Test(func(p experiment.Play) [][]experiment.Episode { return played[p.String()] })

	out, err := recompute(t, python, result, lines)
	if err != nil || !strings.Contains(out, " figures, at most ") {
		t.Errorf("recompute.py says %q, %v; want equal figures", out, err)
	}
	result.Rows[2].WideHigh += 1e-6
	if out, err := recompute(t, python, result, lines); err == nil {
		t.Errorf("recompute.py says %q of a table with an error, want it to fail", out)
	}
}

// playedAtRandom returns the episodes of a seed.
func playedAtRandom(r *rand.Rand, rate float64) []experiment.Episode {
	out := make([]experiment.Episode, 60)
	for i := range out {
		out[i].Template = fmt.Sprint("t", i%7)
		if r.Float64() < rate+0.05*float64(i%7) {
			out[i].Success = 1
		}
		out[i].Missing, out[i].False = r.Float64() < 0.03, out[i].Success == 0 && r.Float64() < 0.5
	}

	return out
}

// recompute runs the script on a result and returns its output.
func recompute(t *testing.T, python string, result experiments.Result, lines [][]string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	table, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	var episodes bytes.Buffer
	if err := csv.NewWriter(&episodes).WriteAll(lines); err != nil {
		t.Fatal(err)
	}
	for name, raw := range map[string][]byte{"result.json": table, "episodes.csv": episodes.Bytes()} {
		if err := os.WriteFile(filepath.Join(dir, name), raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.CommandContext(t.Context(), python, "../../../scripts/recompute.py",
		filepath.Join(dir, "result.json"), filepath.Join(dir, "episodes.csv")).CombinedOutput()

	return string(out), err
}
