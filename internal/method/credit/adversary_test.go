package credit

import (
	"context"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/prompts"
)

func TestAModelsMistakesComeInTheFormOfAnswers(t *testing.T) {
	text, err := prompts.Default(prompts.Adversary)
	if err != nil {
		t.Fatal(err)
	}
	p, err := prompts.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	s := step(1, 3, [][]int{{3}})
	s.Goal, s.Observation.Elements = "Tap b3", s.Observation.Elements[:2]
	model := &says{texts: []string{"Here:\n" + `{"answers":[{"reason":"It is\nnear.","action":{"action_type":"click","index":5}},{"reason":"x","action":{"action_type":"fly"}},7,{"reason":"y","action":{"action_type":"status","goal_status":"complete"}},{"reason":"too many","action":{"action_type":"wait"}}]}`}}
	a := ModelAdversary{Chat: model, Prompt: p, Forms: prompts.FormsOf("mobile"), Temperature: 1, TopP: 1}
	got, usage, err := a.Propose(t.Context(), s, s.Decision.Cells[0], 4, 9)
	want := []string{"Reason: It is near.\nAction: {\"action_type\":\"click\",\"index\":5}", "", "", "Reason: y\nAction: {\"action_type\":\"status\",\"goal_status\":\"complete\"}"}
	if err != nil || strings.Join(got, "|") != strings.Join(want, "|") || usage.Prompt != 10 {
		t.Errorf("%q %+v %v", got, usage, err)
	}
	const user = "Goal:\n| Tap b3\nHistory:\n| none\nScreen:\n| 0 button b0\n| 1 button b1\nThe right action:\n| {\"action_type\":\"click\",\"index\":3}\nWrite 4 different wrong actions."
	if q := model.asked[0]; q.User != user || !strings.Contains(q.System, prompts.FormsOf("mobile").Actions) || q.Seed != 9 || q.Schema.Name != "answers" {
		t.Errorf("%s\n%s", q.System, q.User)
	}
	for _, bad := range []string{"", "no", `{"answers":3}`, `{"answers":[`} {
		model.texts = []string{bad}
		if got, _, err := a.Propose(t.Context(), s, s.Decision.Cells[0], 3, 9); err != nil || strings.Join(got, "") != "" || len(got) != 3 {
			t.Errorf("%q: %q %v", bad, got, err)
		}
	}
	_, n, err := Pairs(t.Context(), Defaults, 1, "t", []domain.Step{s}, []domain.Credit{Oracle(s)}, func(ctx context.Context, s domain.Step, c domain.Cell, n int) ([]string, error) {
		out, _, err := a.Propose(ctx, s, c, n, 1)
		return out, err
	}, OracleGrade)
	if err != nil || n.Unparsed != 4 || n.NoPair != 1 {
		t.Errorf("%+v %v", n, err)
	}
}
