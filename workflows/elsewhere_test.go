package workflows_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/testsuite"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/scripted"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/test/kit/testrun"
	"github.com/collabui/collabui/workers/catalog"
	"github.com/collabui/collabui/workflows"
)

// TestARunIsEvaluatedOutOfDistribution: trained on one environment, it plays recorded tasks of another action family at
// the end, beside a reference without a policy.
func TestARunIsEvaluatedOutOfDistribution(t *testing.T) {
	s := testrun.Tiny()
	s.Environments = map[string]envadapters.Options{"pages": {Suite: "autowebbench", Data: "../envadapters/autowebbench/testdata"}}
	s.Evaluation.OutOfDistribution = []spec.Elsewhere{{Environment: "pages", Split: "en-ind"}}
	if err := s.Validate(catalog.All{}); err != nil {
		t.Fatal(err)
	}
	r := testrun.New(t, s)
	r.Deps.Open = func(o envadapters.Options) (envadapters.Suite, error) {
		return catalog.OpenEnvironment(o, catalog.Places{})
	}
	end, err := r.Play(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	var systems []string
	for _, x := range end.Results {
		if x.Environment == "" {
			continue
		}
		systems = append(systems, x.System)
		sr := x.Metrics[envadapters.StepSR]
		if x.Protocol == "" || x.Environment != "AutoWebBench" || !strings.Contains(x.Version, "sha256:") || x.Episodes != 3 || sr.Steps != 5 || sr.Tasks != 3 || x.Rate != sr.Micro || x.Low > x.Rate || x.High < x.Rate {
			t.Errorf("%+v", x)
		}
		if x.System == "always-finish" && (x.Rate != 0.4 || x.Metrics["awg-all"].Micro != 0) {
			t.Errorf("%+v", x)
		}
	}
	if !slices.Equal(systems, []string{"base-1", "base-4", "trained-4", "always-finish"}) {
		t.Errorf("%v of %+v", systems, end.Results)
	}
	clean(t, r)
}

func TestARunThatCannotPlayItsEnvironmentsSaysSoBeforeItBegins(t *testing.T) {
	for name, c := range map[string]struct {
		o     envadapters.Options
		split string
	}{"no such file": {envadapters.Options{Suite: "autowebbench", Data: "/nowhere"}, "en-ind"}, "no such split": {envadapters.Options{Suite: "autowebbench", Data: "../envadapters/autowebbench/testdata"}, "fr-ind"}} {
		s := testrun.Tiny()
		s.Environments = map[string]envadapters.Options{"pages": c.o}
		s.Evaluation.OutOfDistribution = []spec.Elsewhere{{Environment: "pages", Split: c.split}}
		r := testrun.New(t, s)
		r.Deps.Open = func(o envadapters.Options) (envadapters.Suite, error) {
			return catalog.OpenEnvironment(o, catalog.Places{})
		}
		_, err := r.Play(t, func(env *testsuite.TestWorkflowEnvironment) {
			env.RegisterDelayedCallback(func() {
				if st := status(t, env); !st.Held || st.Stage != "planning" || !strings.Contains(st.Reason, "autowebbench") {
					t.Errorf("%s: %+v", name, st)
				}
				env.UpdateWorkflow(workflows.UpdateStop, "", done(t), workflows.Command{Who: "test", Why: "broken"})
			}, time.Hour)
		})
		if err == nil || r.Suite.Episodes > 0 {
			t.Errorf("%s: %v behind %d episodes", name, err, r.Suite.Episodes)
		}
	}
}

// TestATaskAtFaultIsMissingInATestAndNoFailure: it is reported, and nobody's rate pays for it.
func TestATaskAtFaultIsMissingInATestAndNoFailure(t *testing.T) {
	s := testrun.Tiny()
	s.Evaluation.TestTemplates = 7
	r := testrun.New(t, s)
	r.Suite.Break(scripted.Fault{Template: "held-c", Step: 0, Kind: "invalid", Times: 1 << 30})
	end, err := r.Play(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, x := range end.Results {
		if x.Split == domain.SplitTestTemplates {
			seen++
			if x.Missing != 1 || x.Episodes != 6 {
				t.Errorf("%+v", x)
			}
		}
	}
	if seen != 3 {
		t.Errorf("%+v", end.Results)
	}
	clean(t, r)
}

// TestTheLoopTrainsOnRecordedTasks: teacher-forced rollouts, the recorded action as critic and expert, agents of the
// other action family; the figures are step rates, and the critic's name says that it is supervised learning.
func TestTheLoopTrainsOnRecordedTasks(t *testing.T) {
	s := testrun.Tiny()
	s.Environment, s.Environments = "pages", map[string]envadapters.Options{"pages": {Suite: "mind2web", Data: "../envadapters/mind2web/testdata", Protocol: "list"}}
	s.Evaluation.Val, s.Pairs.MinPairs, s.FineTune.Demonstrations, s.Slots = 3, 1, 64, 30 // every task once: the policy cannot say all that they ask
	if err := s.Validate(catalog.All{}); err != nil {
		t.Fatal(err)
	}
	r := testrun.New(t, s)
	r.Deps.Open = func(o envadapters.Options) (envadapters.Suite, error) {
		return catalog.OpenEnvironment(o, catalog.Places{})
	}
	end, err := r.Play(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range end.Results {
		if x.Protocol == "" || x.Metrics[envadapters.StepSR].Tasks != 3 || x.Rate != x.Metrics[envadapters.StepSR].Micro {
			t.Errorf("%+v", x)
		}
	}
	if last := end.Results[len(end.Results)-1]; last.System != "always-finish" || last.Rate != 0 {
		t.Errorf("%+v", last)
	}
	if len(end.Results) != 4 || !strings.Contains(rules.CriticName(s, catalog.All{}), "supervised learning") {
		t.Errorf("%+v %s", end.Results, rules.CriticName(s, catalog.All{}))
	}
	epoch, _, err := runs.Run(s.Name).Epoch(1).Read(t.Context(), r.Bucket)
	if err != nil || epoch.Pairs == 0 {
		t.Errorf("%d pairs, %v", epoch.Pairs, err)
	}
	clean(t, r)
}
