//go:build integration

package integration

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/collabui/collabui/internal/records/runs"
)

// TestThePagesShowARunThatGoesOn trains with screenshots, kills the viewer on the way, and acts on what its pages show:
// a note, a template in quarantine and, from a graded cell, a fork with another label. The pages of the Temporal UI
// describe the run, too, and the report has a picture of every step.
func TestThePagesShowARunThatGoesOn(t *testing.T) {
	t.Parallel()
	m := newMachine(t, specification+"screenshots: true\n")
	m.must("train", m.spec, "--detach")
	m.must("pause", "kill", "--why", "a look")
	temporal := newTemporalPages(m)
	m.eventually("the paused run is listed", time.Minute, func() bool {
		return slices.Equal(temporal.list(pausedRuns), []string{"kill"})
	})
	m.must("resume", "kill")
	m.kill("viewer", m.service("viewer").PID)
	m.rollsOut("0001", 3, 3*time.Minute)
	url := m.service("viewer").Addr
	m.says([]string{"see every episode: " + url + "/#/run/kill"}, "show", "kill")
	m.says([]string{url}, "view")
	m.eventually("an open episode in the viewer", time.Minute, func() bool {
		code, text := get(t, url+"/data/rows/kill/1.js")

		return code == http.StatusOK && strings.Contains(text, `"state":`)
	})

	const page = "#/episode/kill/1/1"
	m.must("note", "kill", "look", "--link", page)
	m.must("set", "kill", `quarantine=["tap-button"]`, "--why", "broken")
	m.sound(5 * time.Minute)
	m.says([]string{"note: look (" + page + ")", `quarantine=["tap-button"]: broken`}, "show", "kill")
	temporal.tell()
	m.must("fork", "kill", "--epoch", "1", "--name", "mended", "--label", "1/1/0/0=-1", "--why", "nobody knows")

	out := m.file("report")
	m.must("report", "kill", "--out", out)
	pictures, err := filepath.Glob(filepath.Join(out, "image", "*.png"))
	if err != nil || len(pictures) == 0 {
		t.Fatalf("the report has %d pictures, %v, want some", len(pictures), err)
	}
	raw, err := os.ReadFile(pictures[0])
	if err != nil || !strings.HasPrefix(string(raw), "\x89PNG") {
		t.Errorf("%s begins with %.8q, %v, want a PNG", pictures[0], raw, err)
	}
	m.must("fsck")
	m.pictured()
}

// pictured checks that every screen of an evaluated episode has a picture, and the last screen of every rollout.
func (m *machine) pictured() {
	m.t.Helper()
	evaluated, ended := 0, 0
	for _, p := range m.objects("/kill/") {
		switch {
		case strings.Contains(p, "/evals/") && filepath.Base(p) != "result.json":
			var e runs.EvalEpisode
			if unseal(m.t, p, &e); len(e.Steps) == 0 {
				continue // of a reference
			}
			evaluated++
			if e.End == nil || e.End.Image == nil {
				m.t.Errorf("%s: got no picture of the end, want one", p)
			}
			for i, s := range e.Steps {
				if s.Image == nil {
					m.t.Errorf("%s, step %d: got no picture, want one", p, i+1)
				}
			}
		case strings.HasSuffix(p, "/episode.json"):
			var e runs.Episode
			if unseal(m.t, p, &e); e.Void != "" || e.Failed != "" {
				continue
			}
			ended++
			if e.End == nil || e.End.Image == nil {
				m.t.Errorf("%s: got no picture of the end, want one", p)
			}
		}
	}
	if evaluated == 0 || ended == 0 {
		m.t.Errorf("got %d evaluated episodes and %d rollouts, want some", evaluated, ended)
	}
}

// get returns the status and the text of an answer, or 0 without an answer.
func get(t *testing.T, url string) (int, string) {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = r.Body.Close() }()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return 0, err.Error()
	}

	return r.StatusCode, string(text)
}
