package environments

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/scripted"
)

func TestAnEnvironmentThatIsNotConfiguredIsNotDead(t *testing.T) {
	t.Setenv("COLLABUI_MINIWOB", "")
	var out bytes.Buffer
	got, err := checkSuite(t.Context(), &app.App{Out: &out}, checkOptions{}, "miniwob")
	if err != nil || got != absent {
		t.Errorf("checkSuite = %v, %v; want that miniwob is absent", got, err)
	}
	remedies := strings.Count(out.String(), "pip download")
	if !strings.HasPrefix(out.String(), "miniwob: not configured — ") || remedies != 1 {
		t.Errorf("printed %s, want that it is not configured, and the remedy once", &out)
	}

	t.Setenv("COLLABUI_MINIWOB", t.TempDir())
	out.Reset()
	got, err = checkSuite(t.Context(), &app.App{Out: &out}, checkOptions{}, "miniwob")
	if err != nil || got != failed {
		t.Errorf("with an empty folder checkSuite = %v, %v; want that miniwob failed\n%s", got, err, &out)
	}
}

// TestABrowserThatDiesIsNoFaultOfATask loses an environment in the middle of a task, at first for a while and then
// for good.
func TestABrowserThatDiesIsNoFaultOfATask(t *testing.T) {
	for name, c := range map[string]struct {
		times  int
		passed bool
		want   []string
	}{
		"once": {1, true, []string{
			"environments broke 1 time, and what they played was played again: ", "scripted fault at step 2",
			"14 of 14 tasks fulfil the contract",
		}},
		"for good": {1000, false, []string{
			"environments broke 3 times, and what they played was played again: ",
			"every environment broke that played them: 1 task",
			"13 of 13 tasks fulfil the contract",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			suite := &scripted.Suite{}
			suite.Break(scripted.Fault{Template: "a", Step: 2, Kind: scripted.Void, Times: c.times})
			var out bytes.Buffer
			o := checkOptions{env: app.EnvironmentOptions{Tabs: 2}, seed: 7}
			passed, err := checkTasks(t.Context(), (&app.App{Out: &out}), suite, o)
			if err != nil || passed != c.passed {
				t.Errorf("passed: %v, %v; want %v\n%s", passed, err, c.passed, &out)
			}
			for _, want := range c.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("printed %s, want %q", &out, want)
				}
			}
			if strings.Contains(out.String(), "problem") {
				t.Errorf("printed %s, want no problem of a task", &out)
			}
		})
	}
}

// unjudged is a suite whose judge finds no success.
type unjudged struct{ *scripted.Suite }

func (u unjudged) Open(ctx context.Context) (envadapters.Environment, error) {
	opened, err := u.Suite.Open(ctx)
	if err != nil {
		return nil, err
	}

	return unjudgedEnvironment{opened.(experienced)}, nil
}

// experienced are the abilities of a scripted environment.
type experienced interface {
	envadapters.Environment
	envadapters.Expert
}

type unjudgedEnvironment struct{ experienced }

func (unjudgedEnvironment) Score(context.Context) (envadapters.Score, error) {
	return envadapters.Score{}, nil
}

func TestAnExpertThatSolvesNothingIsAProblem(t *testing.T) {
	var out bytes.Buffer
	o := checkOptions{env: app.EnvironmentOptions{Tabs: 2}, tasks: 1, seed: 7}
	passed, err := checkTasks(t.Context(), &app.App{Out: &out}, unjudged{&scripted.Suite{}}, o)
	if err != nil || passed || !strings.Contains(out.String(), "problem: the expert solves no task") {
		t.Errorf("passed: %v, %v, printed %s; want a problem of the expert", passed, err, &out)
	}
}
