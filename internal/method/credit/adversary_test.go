package credit

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/prompts"
)

func adversary(t *testing.T, text string) (ModelAdversary, *scriptedModel) {
	t.Helper()
	model := &scriptedModel{texts: []string{text}}

	return ModelAdversary{
		Chat:        model,
		Prompt:      builtIn(t, prompts.Adversary),
		Forms:       prompts.FormsOf("mobile"),
		Temperature: 1,
		TopP:        1,
	}, model
}

// smallStep returns a step with one right cell and a short screen.
func smallStep() domain.Step {
	s := step(1, 3, [][]int{{3}})
	s.Goal, s.Observation.Elements = "Tap b3", s.Observation.Elements[:2]

	return s
}

const mistakes = "Here:\n" + `{"answers":[
{"reason":"It is\nnear.","action":{"action_type":"click","index":5}},
{"reason":"x","action":{"action_type":"fly"}},
7,
{"reason":"y","action":{"action_type":"status","goal_status":"complete"}},
{"reason":"too many","action":{"action_type":"wait"}}]}`

func TestAModelsMistakesHaveTheFormOfAnswers(t *testing.T) {
	a, model := adversary(t, mistakes)
	got, usage, err := a.Propose(t.Context(), smallStep(), smallStep().Decision.Cells[0], 4, 9)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"Reason: It is near.\nAction: {\"action_type\":\"click\",\"index\":5}",
		"",
		"",
		"Reason: y\nAction: {\"action_type\":\"status\",\"goal_status\":\"complete\"}",
	}
	if !slices.Equal(got, want) {
		t.Errorf("Propose() = %q, want %q", got, want)
	}
	if usage.Prompt != 10 {
		t.Errorf("usage %+v, want the 10 tokens of one call", usage)
	}

	const user = `Goal:
| Tap b3
History:
| none
Screen:
| 0 button b0
| 1 button b1
The right action:
| {"action_type":"click","index":3}
Write 4 different wrong actions.`
	q := model.asked[0]
	if q.User != user {
		t.Errorf("got\n%s\nwant\n%s", q.User, user)
	}
	if actions := a.Forms.Actions; !strings.Contains(q.System, actions) {
		t.Errorf("system message\n%s\nwant it with\n%s", q.System, actions)
	}
	if q.Seed != 9 || q.Schema.Name != "answers" {
		t.Errorf("seed %d and schema %q, want 9 and answers", q.Seed, q.Schema.Name)
	}
}

func TestUnreadableMistakesAreEmptyAnswers(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "words": "no", "no list": `{"answers":3}`, "truncated": `{"answers":[`,
	} {
		t.Run(name, func(t *testing.T) {
			a, _ := adversary(t, text)
			got, _, err := a.Propose(t.Context(), smallStep(), smallStep().Decision.Cells[0], 3, 9)
			if want := []string{"", "", ""}; err != nil || !slices.Equal(got, want) {
				t.Errorf("Propose() = %q, %v; want %q", got, err, want)
			}
		})
	}
}

func TestUnreadableMistakesAreCounted(t *testing.T) {
	a, _ := adversary(t, `{"answers":[`)
	propose := func(ctx context.Context, s domain.Step, c domain.Cell, n int) ([]Proposal, error) {
		texts, _, err := a.Propose(ctx, s, c, n, 1)

		return make([]Proposal, len(texts)), err
	}
	s := smallStep()
	maker := Maker{Rules: defaults, Adversary: propose, Grade: OracleGrade}
	_, n, err := maker.Pairs(t.Context(), oneStep(s, Oracle(s)))
	if err != nil {
		t.Fatal(err)
	}
	if n.Unparsed != 4 || n.NoPair != 1 {
		t.Errorf("%d unparsed and %d without a pair, want 4 and 1", n.Unparsed, n.NoPair)
	}
}
