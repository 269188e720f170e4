package mind2web

import (
	"fmt"
	"math"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
)

// decide returns an action for an observation. right contains the right actions.
type decide = func(o domain.Observation, right []domain.Action) domain.Action

func nothing(domain.Observation, []domain.Action) domain.Action { return none }

func first(o domain.Observation, _ []domain.Action) domain.Action {
	return domain.Action{Family: domain.FamilyWeb, Type: domain.ActionClick, Element: o.Elements[0].ID}
}

// typo returns the right element with half of the words.
func typo(_ domain.Observation, right []domain.Action) domain.Action {
	a := right[0]
	switch a.Type {
	case domain.ActionTypeString:
		a.Text = "Bob"
	case domain.ActionSelect:
		a.Type, a.Option = domain.ActionClick, ""
	}

	return a
}

// expertOr returns the recorded action, or the action of other if the recorded one is unknown.
func expertOr(other decide) decide {
	return func(o domain.Observation, right []domain.Action) domain.Action {
		if len(right) > 0 {
			return right[0]
		}
		return other(o, right)
	}
}

// play plays a task of the split cross-task and returns its metrics and its number of questions.
func play(t *testing.T, s *Suite, name string, d decide) (metrics map[string]domain.Metric, questions int) {
	t.Helper()
	env, err := s.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	tr, err := env.Reset(t.Context(), domain.Task{Split: SplitTask, Template: name, Seed: 3, MaxSteps: 100})
	for ; err == nil && !tr.Terminated; questions++ {
		tr, err = env.Step(t.Context(), d(tr.Observation, envadapters.Can(env).Judge.Right()))
	}
	if err != nil {
		t.Fatal(err)
	}
	score, err := env.Score(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	return score.Metrics, questions
}

func TestStepsAreScoredAsPublished(t *testing.T) {
	recordedAction := expertOr(nothing)
	for name, test := range map[string]struct {
		task              string
		decide            decide
		steps             int
		step, element, f1 float64
		listOnly          bool
	}{
		"the expert is right": {task: "t1", decide: recordedAction, steps: 3, step: 3, element: 3, f1: 3},
		"no answer is wrong":  {task: "t1", decide: nothing, steps: 3},
		"half of the words count": {
			task: "t1", decide: typo, steps: 3, step: 1, element: 3, f1: 1.5, listOnly: true,
		},
		"a lost target counts as missed": {task: "t2", decide: recordedAction, steps: 2, step: 1, element: 1, f1: 1},
	} {
		for _, protocol := range []string{protocolOfficial, protocolList} {
			official := protocol == protocolOfficial
			if official && test.listOnly {
				continue
			}
			t.Run(fmt.Sprintf("%s, %s", name, protocol), func(t *testing.T) {
				s := open(t, envadapters.Options{Data: "testdata", Protocol: protocol})
				metrics, questions := play(t, s, test.task, test.decide)
				for metric, want := range map[string]float64{
					envadapters.StepSR: test.step,
					MetricElement:      test.element,
					MetricF1:           test.f1,
				} {
					got := metrics[metric]
					if math.Abs(got.Sum-want) > 1e-9 || got.N != test.steps {
						t.Errorf("%s is %+v, want %v of %d", metric, got, want, test.steps)
					}
				}
				if !official && questions != test.steps {
					t.Errorf("%d questions, want %d", questions, test.steps)
				}
				if most := test.steps * maxQuestions; questions > most {
					t.Errorf("%d questions, want at most %d", questions, most)
				}
			})
		}
	}
}

func TestTheFirstOfEveryGroupIsRightByChanceOnly(t *testing.T) {
	metrics, _ := play(t, open(t, envadapters.Options{Data: "testdata"}), "t1", first)
	if got := metrics[envadapters.StepSR].Sum; got > 1 {
		t.Errorf("%v steps are right, want at most 1", got)
	}
}

func TestOperationsAreComparedAsSetsOfWords(t *testing.T) {
	for _, test := range []struct {
		got, want string
		f1        float64
	}{
		{"", "", 1},
		{"CLICK", "CLICK", 1},
		{"TYPE a b", "TYPE b a a", 1},
		{"TYPE a", "TYPE b", 0.5},
		{"CLICK", "TYPE b", 0},
	} {
		if f := setF1(test.got, test.want); math.Abs(f-test.f1) > 1e-9 {
			t.Errorf("setF1(%q, %q) = %v, want %v", test.got, test.want, f, test.f1)
		}
	}
}
