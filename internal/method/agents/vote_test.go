package agents

import (
	"fmt"
	"testing"

	"github.com/collabui/collabui/domain"
)

func click(i int) string {
	return fmt.Sprintf("Reason: r\nAction: {\"action_type\":\"click\",\"index\":%d}", i)
}

// clickedCells makes cells of n agents × m rounds from the indices that each agent clicked; -1 stands for an answer
// that does not parse.
func clickedCells(clicks [][]int) []domain.Cell {
	var out []domain.Cell
	for a, row := range clicks {
		for j, i := range row {
			text := "nonsense"
			if i >= 0 {
				text = click(i)
			}
			out = append(out, NewCell(a, j, text, "", domain.Observation{}))
		}
	}

	return out
}

func TestVotesAreCountedWithATotalTieRule(t *testing.T) {
	order := []int{0, 2, 1}
	for name, c := range map[string]struct {
		clicks   [][]int
		lastOnly bool
		want     domain.Vote
	}{
		"majority with a tie": {
			clicks: [][]int{{1, 1}, {2, 2}, {1, 2}},
			want:   domain.Vote{Canonical: "click index=2", Votes: 3, Rule: "last-round"},
		},
		"clear majority": {
			clicks: [][]int{{1, 1}, {1, 2}, {3, 4}},
			want:   domain.Vote{Canonical: "click index=1", Votes: 3, Rule: "majority"},
		},
		"tie goes to the last round": {
			clicks: [][]int{{1, 2}, {1, 2}, {3, 4}},
			want:   domain.Vote{Canonical: "click index=2", Votes: 2, Rule: "last-round"},
		},
		"tie goes to more votes in the last round": {
			clicks: [][]int{{3, 2}, {1, 1}, {4, 2}},
			want:   domain.Vote{Canonical: "click index=2", Votes: 2, Rule: "last-round"},
		},
		"then to the scan from the end": {
			clicks:   [][]int{{1, 5}, {1, 6}, {3, 7}},
			lastOnly: true,
			want:     domain.Vote{Canonical: "click index=6", Votes: 1, Rule: "scan"},
		},
		"cells that do not parse do not vote": {
			clicks: [][]int{{-1, -1}, {-1, 3}, {-1, -1}},
			want:   domain.Vote{Canonical: "click index=3", Votes: 1, Rule: "majority"},
		},
		"nor do they tie with those that do": {
			clicks: [][]int{{-1, 3}, {-1, 3}, {4, 5}},
			want:   domain.Vote{Canonical: "click index=3", Votes: 2, Rule: "majority"},
		},
		"nothing parses": {
			clicks: [][]int{{-1, -1}, {-1, -1}, {-1, -1}},
			want:   domain.Vote{Rule: "none"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Count(clickedCells(c.clicks), 2, order, c.lastOnly); got != c.want {
				t.Errorf("Count() = %+v, want %+v", got, c.want)
			}
		})
	}
}
