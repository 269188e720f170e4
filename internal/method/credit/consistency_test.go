package credit

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/internal/method/chat"
)

// prefers grades by an agent's number alone: a critic that looks at who speaks, not at what is said.
type prefers struct{ agent string }

func (p prefers) Complete(_ context.Context, q chat.Request) (chat.Response, error) {
	_, asked, _ := strings.Cut(q.User, "Grade these")
	scores := map[string]any{}
	for _, id := range strings.Fields(asked[strings.Index(asked, ":")+1:]) {
		scores[id] = 0
		if strings.HasPrefix(id, p.agent) {
			scores[id] = 1
		}
	}

	return chat.Response{Texts: []string{grades(scores)}}, nil
}

func TestACriticIsAskedAgainAndUnderOtherNumbers(t *testing.T) {
	s := step(1, 3, [][]int{{3, 3}, {1, 1}, {2, 2}, {4, 4}})
	for name, c := range map[string]struct {
		model  chat.Model
		honest bool
	}{
		"honest": {reader{s.Decision.Cells[0].Action.JSON()}, true},
		"biased": {prefers{"0."}, false},
	} {
		t.Run(name, func(t *testing.T) {
			critic := critic(t, c.model)
			first, a, err := critic.Label(t.Context(), s, 1)
			if err != nil {
				t.Fatal(err)
			}
			var k Consistency
			for seed := range uint64(10) {
				if err := k.Again(t.Context(), critic, s, first, a.Means, seed); err != nil {
					t.Fatal(err)
				}
			}
			if k.Steps != 10 || k.Cells != 80 || k.Repeat != 80 || k.RepeatBy != 0 {
				t.Errorf("%+v, want 80 cells of 10 steps repeated alike", k)
			}
			if got := k.Reordered == 80; got != c.honest {
				t.Errorf("%d of 80 labels alike under reordering, want all: %v", k.Reordered, c.honest)
			}
			if got := k.OrderBy == 0; got != c.honest {
				t.Errorf("scores differ by %v under reordering, want 0: %v", k.OrderBy, c.honest)
			}
		})
	}
}

func TestReorderingMovesCellsUnlessTheAgentIsAlone(t *testing.T) {
	alone := step(1, 3, [][]int{{3, 1}})
	if got, place := reorder(alone, 1); place[0] != 0 || got.Decision.Cells[1].Text != alone.Decision.Cells[1].Text {
		t.Errorf("the cells of one agent went to %v, want them in place", place)
	}

	s := step(1, 3, [][]int{{3, 3}, {1, 1}, {2, 2}, {4, 4}})
	for seed := range uint64(50) {
		if _, place := reorder(s, seed); slices.IsSorted(place) {
			t.Fatalf("seed %d: cells went to %v, want another order", seed, place)
		}
	}
}
