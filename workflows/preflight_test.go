package workflows_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/collabui/collabui/activities/preflight"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/scripted"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/test/kit/testrun"
	"github.com/collabui/collabui/workflows"
)

// answers is a critic that grades the proposals of a trial, or a model that gives one error.
type answers struct{ err error }

func (a answers) Complete(context.Context, chat.Request) (chat.Response, error) {
	return chat.Response{
		Texts: []string{`{"grades":[{"cell":"0.0","reason":"r","score":1},{"cell":"1.0","reason":"r","score":0}]}`},
	}, a.err
}

// withJudge returns a specification whose critic is a model.
func withJudge() spec.Spec {
	s := testrun.Tiny()
	m := spec.DefaultModel()
	m.BaseURL, m.Model, m.Key = "http://127.0.0.1:1/v1", "judge", "JUDGE_API_KEY"
	s.Models, s.Critic.Model = map[spec.Role]spec.Model{"judge": m}, "judge"

	return s
}

// examine lets the workers of a run check a specification.
func examine(t *testing.T, r *testrun.Run, quiet bool, all ...spec.Spec) []preflight.Obstacle {
	t.Helper()
	id := preflight.ID{NoProbe: quiet}
	for _, s := range all {
		raw, err := json.Marshal(preflight.Candidate{Spec: s})
		if err != nil {
			t.Fatal(err)
		}
		ref, err := store.PutBlob(t.Context(), r.Bucket, raw)
		if err != nil {
			t.Fatal(err)
		}
		id.Specs = append(id.Specs, ref.SHA256)
	}
	env := r.Environment()
	env.ExecuteWorkflow(workflows.Preflight, id)
	if err := env.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	var out []preflight.Obstacle
	if err := env.GetWorkflowResult(&out); err != nil {
		t.Fatal(err)
	}

	return out
}

func TestNothingIsFoundWhereARunCanEnd(t *testing.T) {
	t.Parallel()
	r := testrun.New(t, testrun.Tiny())
	r.Deps.Endpoint = func(spec.Model) (chat.Model, error) { return answers{}, nil }
	if got := examine(t, r, false, testrun.Tiny(), withJudge()); len(got) != 0 {
		t.Errorf("the obstacles are %+v, want none", got)
	}
}

func TestWhatWouldStopARunIsFoundBeforeItStarts(t *testing.T) {
	t.Parallel()
	missing := fault.New(fault.Invalid, "this worker has no JUDGE_API_KEY: set it, or JUDGE_API_KEY_FILE")
	for name, c := range map[string]struct {
		spec   func() spec.Spec
		model  chat.Model
		key    error
		open   error // of an environment
		suite  *scripted.Suite
		quiet  bool
		where  string
		wanted string
	}{
		"a key":             {spec: withJudge, key: missing, where: "models.judge", wanted: "or JUDGE_API_KEY_FILE"},
		"a key, not probed": {spec: withJudge, key: missing, quiet: true, where: "models.judge", wanted: "_API_KEY"},
		"a model that fails": {
			spec: withJudge, model: answers{fault.New(fault.Invalid, "401")}, where: "models.judge", wanted: "401",
		},
		"the same, not probed": {
			spec: withJudge, model: answers{fault.New(fault.Invalid, "401")}, quiet: true,
		},
		"a busy model": {spec: withJudge, model: answers{fault.New(fault.Throttled, "429")}},
		"a trainer": {
			spec: func() spec.Spec { s := testrun.Tiny(); s.Trainer.Name = "llamafactory"; return s }, where: "trainer",
			wanted: "no trainer",
		},
		"a split": {
			spec:  func() spec.Spec { s := testrun.Tiny(); s.Environment = "away"; return s },
			open:  fault.New(fault.Invalid, "no server answers: start it with `collabui envs serve`"),
			where: "environment", wanted: "collabui envs serve",
		},
		"a split without tasks": {
			spec:  func() spec.Spec { s := testrun.Tiny(); s.Environment = "away"; return s },
			suite: &scripted.Suite{Without: []string{"a", "b", "c", "d", "e", "f", "g"}},
			where: "environment", wanted: "may be 0: it lists no tasks for it",
		},
		"pictures of another environment that has none": {
			spec: func() spec.Spec {
				s := testrun.Tiny()
				s.Observation.Kind = agents.AsImage
				s.Evaluation.OutOfDistribution = []spec.Elsewhere{{Environment: "away", Split: domain.SplitVal}}

				return s
			},
			where: "environments.away", wanted: "no screenshots",
		},
		"a quarantined template that there is not": {
			spec:  func() spec.Spec { s := testrun.Tiny(); s.Quarantine = []string{"none"}; return s },
			where: "environment", wanted: "no training template \"none\": name others in the specification",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := testrun.New(t, testrun.Tiny())
			r.Deps.Endpoint = func(spec.Model) (chat.Model, error) {
				if c.model == nil {
					return answers{}, c.key
				}

				return c.model, c.key
			}
			if c.suite != nil {
				r.Suite = c.suite
			}
			r.Deps.Open = func(envadapters.Options) (envadapters.Suite, error) { return r.Suite, c.open }
			got := examine(t, r, c.quiet, c.spec())
			if c.where == "" {
				if len(got) > 0 {
					t.Errorf("the obstacles are %+v, want none", got)
				}

				return
			}
			if len(got) == 0 || got[0].Where != c.where || !strings.Contains(got[0].Why, c.wanted) || got[0].Warning {
				t.Errorf("the obstacles are %+v, want one of %s with %q", got, c.where, c.wanted)
			}
		})
	}
}
