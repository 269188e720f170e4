package miniwob

import (
	"encoding/json"
	"os"
	"os/exec"
	"strconv"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/collabui/collabui/envadapters"
)

// short are official tasks with one or two steps, so that an episode consists mostly of its load: the hardest case.
var short = []string{
	"click-test", "click-button", "click-link", "focus-text", "enter-text", "click-dialog", "click-checkboxes",
	"click-tab",
}

// browsers is the number of browsers that play with each client.
const browsers = 2

// BenchmarkOfficialPages lets the expert play episodes of short tasks in two browsers, loads included. If
// COLLABUI_MINIWOB_PYTHON names a Python with the package miniwob, the official client then plays the same tasks.
func BenchmarkOfficialPages(b *testing.B) {
	s, err := New(envadapters.Options{Data: official(b)}, browsers, 1)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()

	var steps, failed atomic.Int64
	episode := func(i int) error {
		e, err := s.Open(b.Context())
		if err != nil {
			return err
		}
		defer e.Close(b.Context())

		task := s.task(short[i%len(short)], uint64(i/len(short)))
		tr, err := e.Reset(b.Context(), task)
		for err == nil && !tr.Terminated && !tr.Truncated {
			a, ok := e.(*environment).Advise()
			if !ok {
				break
			}
			tr, err = e.Step(b.Context(), a)
			steps.Add(1)
		}
		if tr.Reward != 1 {
			failed.Add(1)
		}

		return err
	}
	play := func(n int) {
		var g errgroup.Group
		g.SetLimit(browsers)
		for i := range n {
			g.Go(func() error { return episode(i) })
		}
		if err := g.Wait(); err != nil {
			b.Fatal(err)
		}
	}

	play(4 * len(short)) // start the browsers and fetch the files
	steps.Store(0)
	const episodes = 40
	for b.Loop() {
		play(episodes)
	}

	if failed.Load() > 0 {
		b.Errorf("%d episodes failed, want none", failed.Load())
	}
	b.ReportMetric(float64(steps.Load())/b.Elapsed().Seconds(), "steps/s")
	b.ReportMetric(float64(episodes*b.N)/b.Elapsed().Seconds(), "episodes/s")
	if os.Getenv("COLLABUI_MINIWOB_PYTHON") == "" {
		b.Log("the official client does not play: COLLABUI_MINIWOB_PYTHON names no Python that has it")
		return
	}
	b.ReportMetric(officialClient(b, "1"), "client-steps/s")
	b.ReportMetric(officialClient(b, "0"), "client-steps/s-without-screenshots")
}

// officialClient returns the steps per second of the official Python client and its WebDriver. screenshots is 1 for the
// default, a screenshot per step, and 0 for none.
func officialClient(b *testing.B, screenshots string) float64 {
	args := append([]string{"testdata/client.py"}, short...)
	args = append(args, screenshots, strconv.Itoa(browsers), "160")
	cmd := exec.CommandContext(b.Context(), os.Getenv("COLLABUI_MINIWOB_PYTHON"), args...)
	cmd.Env = os.Environ()
	for name, program := range map[string]string{
		"MINIWOB_CHROME_BINARY": "chromium", "MINIWOB_CHROMEDRIVER": "chromedriver",
	} {
		path, err := exec.LookPath(program)
		if err != nil {
			b.Fatalf("looking for %s: %v, want it installed, as by scripts/chromedriver.sh", program, err)
		}
		cmd.Env = append(cmd.Env, name+"="+path)
	}
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		b.Fatalf("the official client ended with %v, want 0", err)
	}

	var r struct {
		Seconds float64 `json:"seconds"`
		Steps   int     `json:"steps"`
		Failed  int     `json:"failed"`
	}
	if err := json.Unmarshal(out, &r); err != nil {
		b.Fatalf("the official client printed %q, want JSON: %v", out, err)
	}
	if r.Failed > 0 || r.Steps == 0 {
		b.Errorf("the official client failed %d episodes in %d steps, want none", r.Failed, r.Steps)
	}

	return float64(r.Steps) / r.Seconds
}
