package agents

import (
	"sync"

	"github.com/collabui/collabui/domain"
)

// earlyVote counts votes in the order of rounds and, within a round, of speakers, although the cells may be filled in
// any order.
type earlyVote struct {
	mu       sync.Mutex
	cells    []domain.Cell
	rounds   int
	order    []int
	lastOnly bool
	filled   []bool
	next     int // position of the first uncounted cell
	votes    map[string]int
	decided  bool
}

func newEarlyVote(cells []domain.Cell, rounds int, order []int, scope VoteScope) *earlyVote {
	return &earlyVote{
		cells:    cells,
		rounds:   rounds,
		order:    order,
		lastOnly: scope == ScopeLast,
		filled:   make([]bool, len(cells)),
		votes:    map[string]int{},
	}
}

// certainAfter marks a cell as filled, counts up to the first cell that is not, and reports whether the winner is
// certain: it leads the second by more votes than cells remain, so no tie rule can apply.
func (t *earlyVote) certainAfter(agent, round int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()

	t.filled[agent*t.rounds+round] = true
	for !t.decided && t.next < len(t.cells) && t.filled[t.at(t.next)] {
		cell := t.cells[t.at(t.next)]
		if cell.Votes() && (!t.lastOnly || cell.Round == t.rounds-1) {
			t.votes[cell.Canonical]++
		}
		t.next++
		first, second := t.leaders()
		t.decided = first > second+min(len(t.cells)-t.next, t.voters())
	}

	return t.decided
}

// leaders returns the two highest vote counts.
func (t *earlyVote) leaders() (first, second int) {
	for _, v := range t.votes {
		if v > first {
			first, second = v, first
		} else {
			second = max(second, v)
		}
	}

	return first, second
}

// at returns the index of the cell at a position in the counting order.
func (t *earlyVote) at(pos int) int { return t.order[pos%len(t.order)]*t.rounds + pos/len(t.order) }

// voters returns the number of cells that may vote.
func (t *earlyVote) voters() int {
	if t.lastOnly {
		return len(t.order)
	}

	return len(t.cells)
}

// executed returns the action of the first cell in the counting order whose canonical form won. That cell precedes the
// point of certainty, so it is the same whether or not later agents are queried. If no cell has a vote, the agents pass
// if one of them spoke, and the action is the no-op if no answer parsed.
func (t *earlyVote) executed(canonical string) domain.Action {
	for pos := range t.cells {
		if cell := t.cells[t.at(pos)]; cell.Votes() && cell.Canonical == canonical {
			return *cell.Action
		}
	}

	for _, cell := range t.cells {
		if cell.Action != nil && cell.Action.Speech() {
			return domain.Action{Family: cell.Action.Family, Type: domain.ActionPass}
		}
	}

	return domain.Action{Type: domain.ActionNone}
}

// clear empties the cells after the point of certainty.
func (t *earlyVote) clear() {
	for pos := t.next; t.decided && pos < len(t.cells); pos++ {
		t.cells[t.at(pos)] = domain.Cell{}
	}
}
