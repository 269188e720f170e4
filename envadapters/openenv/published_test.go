package openenv

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/acceptance"
	"github.com/collabui/collabui/envadapters/scripted"
	"github.com/collabui/collabui/envadapters/webtasks"
)

// published runs a program of testdata in a Python that has openenv, the published package of the protocol.
func published(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	python := os.Getenv("COLLABUI_OPENENV_PYTHON")
	if python == "" {
		t.Skip("COLLABUI_OPENENV_PYTHON names no Python that has openenv; scripts/venv.sh openenv makes one")
	}

	cmd := exec.CommandContext(t.Context(), python, args...)
	cmd.Dir, cmd.Stderr = "testdata", os.Stderr

	return cmd
}

// publishedPanel serves an environment that is written with openenv, and returns its address.
func publishedPanel(t *testing.T, capabilities ...string) string {
	t.Helper()
	cmd := published(t, append([]string{"panel.py", "2"}, capabilities...)...)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })

	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the server says %q, %v, want its address", line, err)
	}

	return strings.TrimSpace(line)
}

func TestAnEnvironmentOfThePublishedServerKeepsTheContract(t *testing.T) {
	for _, capabilities := range [][]string{{"judge", "expert", "replayable"}, {"expert", "replayable"}} {
		t.Run(strings.Join(capabilities, ","), func(t *testing.T) {
			address := publishedPanel(t, capabilities...)
			s, err := New(envadapters.Options{Servers: []string{address}, Places: 3})
			if err != nil {
				t.Fatal(err)
			}

			for _, r := range acceptance.Test(t, s, 0) {
				if r.Expert != acceptance.Solves || r.Replay != acceptance.Identical {
					t.Errorf("got %+v, want an expert that solves the task and a replay that is identical", r)
				}
			}
			playBeside(t, s, capabilities[0] == "judge")
		})
	}
}

// playBeside plays two episodes at a time at a server with two places. A third session gets no place.
func playBeside(t *testing.T, s *Suite, judge bool) {
	t.Helper()
	task := domain.Task{Template: "three", Split: domain.SplitTrain, Seed: 1, MaxSteps: 8}
	var envs []*environment
	for seed := range uint64(2) {
		env := opened(t, s)
		task.Seed = seed
		if _, err := env.Reset(t.Context(), task); err != nil {
			t.Fatal(err)
		}
		envs = append(envs, env)
	}
	third := opened(t, s)
	if _, err := third.Reset(t.Context(), task); CodeOf(err) != CodeCapacity {
		t.Errorf("a third session at a server with two places = %v, want %s", err, CodeCapacity)
	}
	other, err := New(s.o)
	if err != nil {
		t.Fatal(err)
	}
	if h := other.Check(t.Context()); h.State != envadapters.Busy {
		t.Errorf("Check of a server without a free place = %+v, want %s", h, envadapters.Busy)
	}

	for range 4 {
		for _, env := range envs {
			can := env.Abilities()
			if (can.Judge != nil) != judge {
				t.Errorf("a judge: %v, want %v", can.Judge, judge)
			}
			a, _ := can.Expert.Advise()
			if _, err := env.Step(t.Context(), a); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i, env := range envs {
		if sc, err := env.Score(t.Context()); err != nil || !sc.Success {
			t.Errorf("episode %d has score %+v, %v, want a success", i, sc, err)
		}
	}
}

func TestThePublishedClientPlaysWhatWeServe(t *testing.T) {
	pages, err := webtasks.New(envadapters.Options{}, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pages.Close() })

	for _, suite := range []envadapters.Suite{&scripted.Suite{}, pages} {
		t.Run(suite.Name(), func(t *testing.T) {
			base, _ := serve(t, suite)
			out, err := published(t, "play.py", base).Output()
			var seen struct {
				Profile        string
				Asked, Success bool
				Steps          int
				Reward         float64
			}
			if err == nil {
				err = json.Unmarshal(out, &seen)
			}
			if err != nil {
				t.Fatalf("play.py printed %s, %v, want JSON", out, err)
			}
			if seen.Profile != Profile || seen.Asked || !seen.Success || seen.Steps == 0 || seen.Reward != 1 {
				t.Errorf("the client saw %+v, want the profile %s, no right actions unless asked, and a success",
					seen, Profile)
			}
		})
	}
}

// TestThePublishedValidatorPassesWhatWeServe runs `openenv validate --url`.
func TestThePublishedValidatorPassesWhatWeServe(t *testing.T) {
	base, _ := serve(t, &scripted.Suite{})
	out, err := published(t, "-m", "openenv.cli", "validate", "--json", "--url", base).Output()
	var seen struct {
		Passed  bool
		Summary struct {
			Passed int      `json:"passed_count"`
			Total  int      `json:"total_count"`
			Failed []string `json:"failed_criteria"`
		}
	}
	if err == nil {
		err = json.Unmarshal(out, &seen)
	}
	if err != nil {
		t.Fatalf("openenv validate printed %s, %v, want a report in JSON", out, err)
	}
	if sum := seen.Summary; !seen.Passed || sum.Passed != 6 || sum.Total != 6 {
		t.Errorf("the server passes %d of %d criteria, and fails %q, want 6 of 6", sum.Passed, sum.Total, sum.Failed)
	}
}

// TestThePythonPackageReadsEveryAction compares the actions of the Python package with those of package domain.
func TestThePythonPackageReadsEveryAction(t *testing.T) {
	const readAndWrite = `import json, sys
from collabui_env.wire import KNOWN, read_action
family, samples = sys.argv[1], json.loads(sys.argv[2])
print(json.dumps({"types": sorted(KNOWN[family]), "actions": [read_action(family, s).to_json() for s in samples]}))`

	for _, f := range []domain.Family{domain.FamilyMobile, domain.FamilyWeb} {
		samples, err := json.Marshal(domain.Samples(f))
		if err != nil {
			t.Fatal(err)
		}
		cmd := published(t, "-c", readAndWrite, string(f), string(samples))
		cmd.Env = append(os.Environ(), "PYTHONPATH=../../../python")
		out, err := cmd.Output()
		var got struct {
			Types   []string
			Actions []domain.Action
		}
		if err == nil {
			err = json.Unmarshal(out, &got)
		}
		if err != nil {
			t.Fatalf("the package printed %s, %v, want JSON", out, err)
		}

		if want := domain.ActionTypes(f); !slices.Equal(got.Types, want) {
			t.Errorf("the package knows the %s actions %v, want %v", f, got.Types, want)
		}
		again, _ := json.Marshal(got.Actions)
		if string(again) != string(samples) {
			t.Errorf("the package wrote %s, want %s", again, samples)
		}
	}
}
