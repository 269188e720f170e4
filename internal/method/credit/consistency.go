package credit

import (
	"context"
	"maps"
	"math"
	"slices"

	"github.com/collabui/collabui/domain"
)

// Consistency says how far a critic agrees with itself when it is asked again about the same cells, unchanged and under
// other agents' numbers in another order.
type Consistency struct {
	Steps     int     `json:"steps"`
	Cells     int     `json:"cells"`         // labelled 1 or 0 at first
	Repeat    int     `json:"repeat"`        // number of Cells labelled alike when asked again
	Reordered int     `json:"reordered"`     // number of Cells labelled alike under reordering
	RepeatBy  float64 `json:"repeat_score"`  // mean absolute difference of an action's score when asked again
	OrderBy   float64 `json:"reorder_score"` // the same under reordering
	actions   float64 // whose scores were compared
}

// Again asks a critic two more times about a step that it has labelled, and counts the agreement. The seed must differ
// from that of the first time.
func (k *Consistency) Again(
	ctx context.Context, c ModelCritic, s domain.Step, first domain.Credit, means map[string]float64, seed uint64,
) error {
	same, a, err := c.Label(ctx, s, domain.Seed(seed, "repeat"))
	if err != nil {
		return err
	}
	other, place := reorder(s, domain.Seed(seed, "order"))
	moved, b, err := c.Label(ctx, other, domain.Seed(seed, "reordered"))
	if err != nil {
		return err
	}

	k.Steps++
	for i, l := range first.Labels {
		if l == domain.Uncertain || s.Decision.Cells[i].Action == nil {
			continue
		}
		k.Cells++
		if same.Labels[i] == l {
			k.Repeat++
		}
		if moved.Labels[place[i]] == l {
			k.Reordered++
		}
	}

	for _, action := range slices.Sorted(maps.Keys(means)) {
		x, ok := a.Means[action]
		y, ok2 := b.Means[action]
		if ok && ok2 {
			k.RepeatBy = (k.RepeatBy*k.actions + math.Abs(x-means[action])) / (k.actions + 1)
			k.OrderBy = (k.OrderBy*k.actions + math.Abs(y-means[action])) / (k.actions + 1)
			k.actions++
		}
	}

	return nil
}

// reorder renumbers the agents, which changes the order of the cells. place maps each cell to its new place.
func reorder(s domain.Step, seed uint64) (other domain.Step, place []int) {
	cells := s.Decision.Cells
	agents := numAgents(s.Decision)
	rounds := len(cells) / agents
	number := domain.Rand(seed).Perm(agents)
	if agents > 1 && slices.IsSorted(number) { // the identity would compare nothing
		number[0], number[agents-1] = number[agents-1], number[0]
	}

	place = make([]int, len(cells))
	s.Decision.Cells = make([]domain.Cell, len(cells))
	for i, c := range cells {
		place[i] = number[c.Agent]*rounds + c.Round
		c.Agent = number[c.Agent]
		s.Decision.Cells[place[i]] = c
	}

	return s, place
}
