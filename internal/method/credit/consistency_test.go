package credit

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/collabui/collabui/internal/method/chat"
)

// prefers grades by an agent's number alone: a critic that looks at who speaks, not at what is said.
type prefers struct{ agent string }

func (p prefers) Complete(_ context.Context, q chat.Request) (chat.Response, error) {
	_, asked, _ := strings.Cut(q.User, "Grade these")
	var out []string
	for _, id := range strings.Fields(asked[strings.Index(asked, ":")+1:]) {
		score := 0
		if strings.HasPrefix(id, p.agent) {
			score = 1
		}
		out = append(out, fmt.Sprintf(`{"cell":%q,"reason":"r","score":%d}`, id, score))
	}
	return chat.Response{Texts: []string{`{"grades":[` + strings.Join(out, ",") + `]}`}}, nil
}

func TestACriticIsAskedAgainAndUnderOtherNumbers(t *testing.T) {
	s := step(1, 3, [][]int{{3, 3}, {1, 1}, {2, 2}, {4, 4}})
	for name, model := range map[string]chat.Model{"honest": reader{s.Decision.Cells[0].Action.JSON()}, "biased": prefers{"0."}} {
		c := critic(t, model)
		first, a, err := c.Label(t.Context(), s, 1)
		if err != nil {
			t.Fatal(err)
		}
		var k Consistency
		for seed := range uint64(10) {
			if err := k.Again(t.Context(), c, s, first, a.Means, seed); err != nil {
				t.Fatal(err)
			}
		}
		if k.Steps != 10 || k.Cells != 80 || k.Repeat != 80 || k.RepeatBy != 0 || (k.Reordered == 80) != (name == "honest") || (k.OrderBy == 0) != (name == "honest") {
			t.Errorf("%s: %+v", name, k)
		}
	}
	alone := step(1, 3, [][]int{{3, 1}})
	if got, place := reorder(alone, 1); place[0] != 0 || got.Decision.Cells[1].Text != alone.Decision.Cells[1].Text {
		t.Error(place)
	}
	for seed := range uint64(50) {
		_, place := reorder(s, seed)
		if fmt.Sprint(place) == fmt.Sprint([]int{0, 1, 2, 3, 4, 5, 6, 7}) {
			t.Fatal("nothing was reordered")
		}
	}
}
