package workflows_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/testsuite"

	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/test/kit/testrun"
	"github.com/collabui/collabui/workers/catalog"
	"github.com/collabui/collabui/workflows"
)

// webBench are recorded tasks of the web family.
var webBench = envadapters.Options{Suite: "autowebbench", Data: "../envadapters/autowebbench/testdata"}

// withPages returns Tiny with a second environment, "pages", on which it is evaluated out of distribution.
func withPages(o envadapters.Options, split string) spec.Spec {
	s := testrun.Tiny()
	s.Environments = map[string]envadapters.Options{"pages": o}
	s.Evaluation.OutOfDistribution = []spec.Elsewhere{{Environment: "pages", Split: split}}

	return s
}

// openingAll prepares a run that opens the real adapters, too.
func openingAll(t *testing.T, s spec.Spec) *testrun.Run {
	t.Helper()
	r := testrun.New(t, s)
	r.Deps.Open = func(o envadapters.Options) (envadapters.Suite, error) {
		return catalog.OpenEnvironment(o, catalog.Places{})
	}

	return r
}

// TestARunIsEvaluatedOutOfDistribution plays a run that is trained on one environment and plays recorded tasks of
// another action family at its end, next to a reference without a policy.
func TestARunIsEvaluatedOutOfDistribution(t *testing.T) {
	t.Parallel()
	s := withPages(webBench, "en-ind")
	if err := s.Validate(catalog.All{}); err != nil {
		t.Fatal(err)
	}
	end := play(t, openingAll(t, s))

	var systems []string
	for _, x := range end.Results {
		if x.Environment == "" {
			continue
		}
		systems = append(systems, x.System)
		if x.Protocol == "" || x.Environment != "AutoWebBench" || !strings.Contains(x.Version, "sha256:") {
			t.Errorf("the result of %s = %+v, want its protocol, AutoWebBench and a digest", x.System, x)
		}
		sr := x.Metrics[envadapters.StepSR]
		if x.Episodes != 3 || sr.Steps != 5 || sr.Tasks != 3 {
			t.Errorf("%s played %d tasks, %+v; want 5 steps of 3 tasks", x.System, x.Episodes, sr)
		}
		if x.Rate != sr.Micro || x.Low > x.Rate || x.High < x.Rate {
			t.Errorf("the rate of %s = %v of %v to %v, want %v", x.System, x.Rate, x.Low, x.High, sr.Micro)
		}
		if all := x.Metrics["awg-all"].Micro; x.System == "always-finish" && (x.Rate != 0.4 || all != 0) {
			t.Errorf("always-finish has the rates %v and %v, want 0.4 and 0", x.Rate, all)
		}
	}
	if want := []string{"base-1", "base-4", "trained-4", "always-finish"}; !slices.Equal(systems, want) {
		t.Errorf("the systems on other pages = %v, want %v", systems, want)
	}
}

func TestARunThatCannotPlayItsEnvironmentsSaysSoBeforeItBegins(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options envadapters.Options
		split   string
	}{
		"no such file":  {envadapters.Options{Suite: "autowebbench", Data: "/nowhere"}, "en-ind"},
		"no such split": {webBench, "fr-ind"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := openingAll(t, withPages(c.options, c.split))
			_, err := r.Play(t, func(env *testsuite.TestWorkflowEnvironment) {
				env.RegisterDelayedCallback(func() {
					st := status(t, env)
					wantHeld(t, st, "autowebbench")
					if st.Stage != "planning" {
						t.Errorf("the stage = %q, want planning", st.Stage)
					}
					send(t, env, workflows.UpdateStop, workflows.Command{Who: "test", Why: "broken"})
				}, time.Hour)
			})
			if err == nil || r.Suite.Episodes > 0 {
				t.Errorf("the run ended with %v after %d episodes, want an error before the first",
					err, r.Suite.Episodes)
			}
		})
	}
}

// TestTheLoopTrainsOnRecordedTasks plays teacher-forced rollouts with the recorded action as critic and expert, and
// agents of the other action family. The figures are step rates, and the critic's name says that it is supervised
// learning.
func TestTheLoopTrainsOnRecordedTasks(t *testing.T) {
	t.Parallel()
	s := testrun.Tiny()
	s.Environment, s.Environments = "pages", map[string]envadapters.Options{
		"pages": {Suite: "mind2web", Data: "../envadapters/mind2web/testdata", Protocol: "list"},
	}
	s.Evaluation.Val, s.Pairs.MinPairs = 3, 1
	s.FineTune.Demonstrations, s.Slots = 64, 30 // every task once: the policy cannot say all that they ask
	if err := s.Validate(catalog.All{}); err != nil {
		t.Fatal(err)
	}
	r := openingAll(t, s)
	end := play(t, r)

	if len(end.Results) != 4 {
		t.Fatalf("%d results, want 4: %+v", len(end.Results), end.Results)
	}
	for _, x := range end.Results {
		if sr := x.Metrics[envadapters.StepSR]; x.Protocol == "" || sr.Tasks != 3 || x.Rate != sr.Micro {
			t.Errorf("the result of %s = %+v, want the step rate of 3 tasks", x.System, x)
		}
	}
	if last := end.Results[3]; last.System != "always-finish" || last.Rate != 0 {
		t.Errorf("the last result = %s with the rate %v, want always-finish with 0", last.System, last.Rate)
	}
	if got := rules.CriticName(s, catalog.All{}); !strings.Contains(got, "supervised learning") {
		t.Errorf("CriticName = %q, want it to say that it is supervised learning", got)
	}
	if epoch := read(t, r, runs.Run(s.Name).Epoch(1)); epoch.Pairs == 0 {
		t.Errorf("epoch 1 made %d pairs, want some", epoch.Pairs)
	}
}
