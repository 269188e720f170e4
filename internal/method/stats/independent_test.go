package stats_test

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/collabui/collabui/internal/method/stats"
)

// program computes the same figures with scipy and statsmodels.
const program = `
import json, sys
import numpy as np
from scipy import stats
from statsmodels.stats.proportion import proportion_confint
from statsmodels.stats.multitest import multipletests

q, out = json.load(sys.stdin), {}
out["wilson"] = [list(proportion_confint(k, n, alpha=0.05, method="wilson")) for k, n in q["wilson"]]
out["t"] = []
for x in q["t"]:
    test = stats.ttest_1samp(x, 0)
    low, high = test.confidence_interval(0.95)
    out["t"].append([float(np.mean(x)), float(low), float(high), float(test.pvalue)])
out["holm"] = [list(multipletests(p, method="holm")[1]) for p in q["holm"]]
out["sign"] = [float(stats.binomtest(a, a + b, 0.5, alternative="greater").pvalue) for a, b in q["sign"]]
out["power"] = []
for mean, sd, n in q["power"]:
    out["power"].append(float(1 - stats.nct.cdf(stats.t.ppf(0.975, n - 1), n - 1, mean / sd * np.sqrt(n))))
json.dump(out, sys.stdout)
`

// figures holds the figures that both sides compute.
type figures struct {
	Wilson [][]float64 `json:"wilson"`
	T      [][]float64 `json:"t"`
	Holm   [][]float64 `json:"holm"`
	Sign   []float64   `json:"sign"`
	Power  []float64   `json:"power"`
}

// questions holds inputs of every statistic that tables report.
type questions struct {
	Wilson [][2]int     `json:"wilson"`
	T      [][]float64  `json:"t"`
	Holm   [][]float64  `json:"holm"`
	Sign   [][2]int     `json:"sign"`
	Power  [][3]float64 `json:"power"`
}

func ask() (questions, figures) {
	var q questions
	var f figures
	r := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		n := 1 + r.IntN(900)
		k := r.IntN(n + 1)
		low, high := stats.Wilson(k, n)
		q.Wilson, f.Wilson = append(q.Wilson, [2]int{k, n}), append(f.Wilson, []float64{low, high})

		x, p := make([]float64, 2+r.IntN(12)), make([]float64, 1+r.IntN(20))
		for i := range x {
			x[i] = 10*r.NormFloat64() + 3
		}
		for i := range p {
			p[i] = r.Float64() * r.Float64()
		}
		mean, low, high := stats.TInterval(x)
		q.T, f.T = append(q.T, x), append(f.T, []float64{mean, low, high, stats.TTest(x)})
		q.Holm, f.Holm = append(q.Holm, p), append(f.Holm, stats.Holm(p))

		a, b := r.IntN(60), 1+r.IntN(60)
		q.Sign, f.Sign = append(q.Sign, [2]int{a, b}), append(f.Sign, stats.SignTest(a, b))
	}
	for _, x := range [][3]float64{{5, 4, 6}, {3, 11, 6}, {25, 12, 6}, {3, 4, 10}, {1, 8, 3}} {
		q.Power = append(q.Power, x)
		f.Power = append(f.Power, stats.Power(x[0], x[1], int(x[2])))
	}

	return q, f
}

func TestOtherPackagesComputeTheSameFigures(t *testing.T) {
	python := os.Getenv("COLLABUI_STATS_PYTHON")
	if python == "" {
		python = "python3"
	}
	out, err := exec.CommandContext(t.Context(), python, "-c", "import scipy, statsmodels").CombinedOutput()
	if err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		t.Skipf("%s cannot import scipy and statsmodels (pip install statsmodels; COLLABUI_STATS_PYTHON names another "+
			"interpreter): %v %s", python, err, lines[len(lines)-1])
	}

	q, ours := ask()
	in, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), python, "-c", program)
	c.Stdin = bytes.NewReader(in)
	raw, err := c.Output()
	if err != nil {
		t.Fatalf("the program ends with %v, want figures", err)
	}
	var theirs figures
	if err := json.Unmarshal(raw, &theirs); err != nil {
		t.Fatal(err)
	}

	compare := func(name string, a, b []float64, tolerance float64) {
		for i := range a {
			if len(a) != len(b) || math.Abs(a[i]-b[i]) > tolerance {
				t.Fatalf("%s: we compute %v, they %v; want equal figures to %g", name, a, b, tolerance)
			}
		}
	}
	for i := range ours.Wilson {
		compare("Wilson", ours.Wilson[i], theirs.Wilson[i], 1e-9)
		compare("t", ours.T[i], theirs.T[i], 1e-9)
		compare("Holm", ours.Holm[i], theirs.Holm[i], 1e-9)
	}
	compare("sign test", ours.Sign, theirs.Sign, 1e-9)
	compare("power", ours.Power, theirs.Power, 1e-4) // our midpoint rule has 2,000 points
}
