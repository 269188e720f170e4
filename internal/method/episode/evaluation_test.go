package episode_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/scripted"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/episode"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
)

// dice is a model that answers with a click drawn from the request.
type dice struct{}

func (dice) Complete(_ context.Context, r chat.Request) (chat.Response, error) {
	n := domain.Rand(r.Seed, r.Model, r.User).IntN(3)
	text := fmt.Sprintf(`Reason: it is number %d.`+"\n"+`Action: {"action_type":"click","index":%d}`, n, n)

	return chat.Response{Texts: []string{text}}, nil
}

// evaluation returns the evaluation of two base policies on val.
func evaluation() episode.Evaluation {
	s := spec.Default()
	s.Agents, s.Rounds, s.Decoding.Temperatures = 2, 2, []float64{0.5}

	return episode.Evaluation{
		Spec:   s,
		System: rules.AllAgents(s, rules.BaseName(2), []string{"p", "q"}),
		Split:  domain.SplitVal,
		Model:  dice{},
	}
}

func TestAnEvaluationDecidesAsTheAgentsDo(t *testing.T) {
	for i := range 5 {
		t.Run(fmt.Sprint("episode ", i), func(t *testing.T) {
			v := evaluation()
			conf, number, err := v.System.Config(v.Spec, v.Split, uint64(i))
			if err != nil {
				t.Fatal(err)
			}

			steps := 0
			v.Decided = func(ctx context.Context, tn episode.Turn, c agents.Config, d domain.Decision) error {
				steps++
				if !reflect.DeepEqual(c.Topology, conf.Topology) || !reflect.DeepEqual(c.Policies, conf.Policies) {
					t.Errorf("step %d is decided by %+v, want %+v", steps, c, conf)
				}
				seed := domain.Seed(rules.EvalCalls(v.Spec, v.Split, i), tn.Number)
				want, err := agents.Decide(ctx, dice{}, conf, tn.View(), seed)
				if err != nil {
					return err
				}
				if !reflect.DeepEqual(d, want) {
					t.Errorf("step %d: the decision = %+v, want that of agents.Decide, %+v", steps, d, want)
				}
				return nil
			}

			env := open(t, &scripted.Suite{})
			p, topology, err := v.Player(env, i)
			if err != nil {
				t.Fatal(err)
			}
			if topology != number {
				t.Errorf("Player returned topology %d, want %d", topology, number)
			}

			got, err := p.Play(t.Context(), env, task())
			if err != nil {
				t.Fatal(err)
			}
			if steps == 0 || steps != got.Outcome.Steps {
				t.Errorf("%d decisions were shown of %d steps, want all, and at least one", steps, got.Outcome.Steps)
			}
		})
	}
}

func TestAnErrorOfDecidedEndsAnEvaluation(t *testing.T) {
	v := evaluation()
	v.Decided = func(context.Context, episode.Turn, agents.Config, domain.Decision) error { return errHook }
	env := open(t, &scripted.Suite{})
	p, _, err := v.Player(env, 0)
	if err != nil {
		t.Fatal(err)
	}

	if _, err := p.Play(t.Context(), env, task()); !errors.Is(err, errHook) {
		t.Errorf("Play returned the error %v, want %v", err, errHook)
	}
}

// plain is an environment without capabilities.
type plain struct{ envadapters.Environment }

func TestAReferencePlaysWithoutPolicies(t *testing.T) {
	finish := domain.Action{Family: domain.FamilyWeb, Type: domain.ActionFinish}
	hide := func(e envadapters.Environment) envadapters.Environment { return plain{e} }
	keep := func(e envadapters.Environment) envadapters.Environment { return e }

	for name, c := range map[string]struct {
		system rules.EvalSystem
		env    func(envadapters.Environment) envadapters.Environment
		want   domain.Action // action of the first step; empty means the expert's advice
		steps  int
	}{
		"one that always does the same":  {rules.EvalSystem{Always: &finish}, keep, finish, 6},
		"the expert's actions":           {rules.EvalSystem{Recorded: true}, keep, domain.Action{}, 4},
		"an environment without experts": {rules.EvalSystem{Recorded: true}, hide, nothing, 6},
	} {
		t.Run(name, func(t *testing.T) {
			env := c.env(open(t, &scripted.Suite{}))
			v := episode.Evaluation{Spec: spec.Default(), System: c.system, Split: domain.SplitVal}
			p, topology, err := v.Player(env, 0)
			if err != nil {
				t.Fatal(err)
			}
			if topology != 0 {
				t.Errorf("Player returned topology %d, want 0", topology)
			}

			p.After = func(_ context.Context, e episode.Executed) error {
				want := c.want
				if want.Type == "" {
					want = domain.Action{Type: domain.ActionClick}
				}
				if e.Action.Type != want.Type {
					t.Errorf("step %d is %s, want %s", e.Number, e.Action.Type, want.Type)
				}
				return nil
			}

			got, err := p.Play(t.Context(), env, task())
			if err != nil {
				t.Fatal(err)
			}
			if success := c.steps == 4; got.Outcome.Steps != c.steps || got.Outcome.Success != success {
				t.Errorf("Play = %+v, want %d steps and success %v", got.Outcome, c.steps, success)
			}
		})
	}
}

func TestAReferenceSpeaksTheSuitesOwnFamily(t *testing.T) {
	s := spec.Default()
	s.Actions = domain.FamilyWeb
	for name, c := range map[string]struct {
		system rules.EvalSystem
		want   domain.Family
	}{
		"a reference":          {rules.EvalSystem{Recorded: true}, domain.FamilyMobile},
		"a system of policies": {rules.EvalSystem{Policies: []string{"p"}}, domain.FamilyWeb},
	} {
		t.Run(name, func(t *testing.T) {
			v := episode.Evaluation{Spec: s, System: c.system}
			if got := v.Family(&scripted.Suite{}); got != c.want {
				t.Errorf("Family = %s, want %s", got, c.want)
			}
		})
	}
}

func TestADemonstrationMayDoWhatTheJudgeOrTheExpertKnows(t *testing.T) {
	for name, c := range map[string]struct {
		hide func(envadapters.Environment) envadapters.Environment
		can  bool
	}{
		"judge and expert": {func(e envadapters.Environment) envadapters.Environment { return e }, true},
		"an expert alone":  {withoutJudge, true},
		"neither":          {func(e envadapters.Environment) envadapters.Environment { return plain{e} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			whole := open(t, &scripted.Suite{})
			env := c.hide(whole)
			if _, err := env.Reset(t.Context(), task()); err != nil {
				t.Fatal(err)
			}

			if got := episode.CanDemonstrate(env); got != c.can {
				t.Errorf("CanDemonstrate = %v, want %v", got, c.can)
			}
			var want []domain.Action
			if c.can {
				want = episode.Right(whole)
			}
			if got := episode.Helpful(env); !reflect.DeepEqual(got, want) {
				t.Errorf("Helpful = %v, want %v", got, want)
			}
		})
	}
}

// withoutJudge hides the judge of an environment.
func withoutJudge(e envadapters.Environment) envadapters.Environment {
	return struct {
		envadapters.Environment
		envadapters.Expert
	}{e, e.(envadapters.Expert)}
}

// mumbler is a model whose answers contain no action.
type mumbler struct{}

func (mumbler) Complete(context.Context, chat.Request) (chat.Response, error) {
	return chat.Response{Texts: []string{"hm"}}, nil
}

// TestAnUnparsedStepLeavesTheSameHistoryEverywhere plays such a step as rollouts, evaluation and stage 1 do, with both
// summarisers. Live inference uses the player of evaluation.
func TestAnUnparsedStepLeavesTheSameHistoryEverywhere(t *testing.T) {
	v := evaluation()
	v.Model = mumbler{}
	conf, _, err := v.System.Config(v.Spec, v.Split, 0)
	if err != nil {
		t.Fatal(err)
	}
	env := rewriting{open(t, &scripted.Suite{}), func(tr *envadapters.Transition) { tr.Invalid = "" }}
	evaluated, _, err := v.Player(env, 0)
	if err != nil {
		t.Fatal(err)
	}

	for name, decide := range map[string]func(context.Context, episode.Turn) (domain.Action, error){
		"evaluation": evaluated.Decide,
		"rollout": func(ctx context.Context, tn episode.Turn) (domain.Action, error) {
			d, err := agents.Decide(ctx, mumbler{}, conf, tn.View(), 1)
			return d.Executed, err
		},
		"stage 1": alwaysDecide(nothing),
	} {
		for summariser, say := range map[string]func(context.Context, episode.Executed) (string, error){
			"template": nil,
			"model":    func(context.Context, episode.Executed) (string, error) { return "all went well", nil },
		} {
			t.Run(name+", "+summariser, func(t *testing.T) {
				var history []string
				p := episode.Player{Summarise: say}
				p.Decide = func(ctx context.Context, tn episode.Turn) (domain.Action, error) {
					if history = tn.History; tn.Number == 3 {
						return domain.Action{}, episode.ErrStop
					}

					return decide(ctx, tn)
				}
				if _, err := p.Play(t.Context(), env, task()); err != nil {
					t.Fatal(err)
				}
				want := []string{"1 none failed: no answer parsed", "2 none failed: no answer parsed"}
				if !reflect.DeepEqual(history, want) {
					t.Errorf("the history is %q, want %q", history, want)
				}
			})
		}
	}
}
