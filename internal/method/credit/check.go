package credit

import (
	"github.com/collabui/collabui/domain"
)

// Confusion counts a critic's labels against the environment's judge: [truth][label], both in the order 1, 0, ∅.
type Confusion [3][3]int

func column(l domain.Label) int {
	switch l {
	case domain.Positive:
		return 0
	case domain.Negative:
		return 1
	}
	return 2
}

// Agreement is the share of cells that judge and critic both label, and label alike; n is their number.
func (c Confusion) Agreement() (rate float64, n int) {
	n = c[0][0] + c[0][1] + c[1][0] + c[1][1]
	if n == 0 {
		return 0, 0
	}
	return float64(c[0][0]+c[1][1]) / float64(n), n
}

// Bin is one piece of a calibration table: cells whose scores lie in [Low, Low+0.1), the last one with 1.
type Bin struct {
	Low   float64 `json:"low"`
	Cells int     `json:"cells"`
	Right int     `json:"right"` // by the judge
	Score float64 `json:"score"` // mean
}

// Check compares a critic with what the environment knows.
type Check struct {
	Steps    int                  `json:"steps"`
	All      Confusion            `json:"all"`
	ByAction map[string]Confusion `json:"by_action"`
	Bins     [10]Bin              `json:"calibration"` // of a critic that is a model
	// Executed actions labelled 1 and 0, in episodes that succeeded and that failed: [success, failure][1, 0].
	Outcomes [2][2]int      `json:"outcomes"`
	Blinded  int            `json:"blinded"` // right cells that were shown again among the adversary's candidates
	Again    int            `json:"again"`   // of these, labelled 1 again
	Faults   map[string]int `json:"faults"`  // answers that stayed incomplete, by kind
	Repairs  int            `json:"repairs"`
	Spread   float64        `json:"spread"` // largest difference between scores of one action at one step
}

// NewCheck begins an empty one.
func NewCheck() *Check {
	c := &Check{ByAction: map[string]Confusion{}, Faults: map[string]int{}}
	for i := range c.Bins {
		c.Bins[i].Low = float64(i) / 10
	}
	return c
}

// Add counts one graded episode. audits may be empty: the critic is no model.
func (c *Check) Add(steps []domain.Step, credits []domain.Credit, audits []Audit, success bool) {
	for i, s := range steps {
		c.Steps++
		truth := Oracle(s).Labels
		done, said := s.Decision.Executed.Canonical(s.Observation), domain.Uncertain
		for j, cell := range s.Decision.Cells {
			l := credits[i].Labels[j]
			kind := "none"
			if cell.Action != nil {
				kind = cell.Action.Type
				if cell.Canonical == done {
					said = l
				}
			}
			by := c.ByAction[kind]
			by[column(truth[j])][column(l)]++
			c.ByAction[kind] = by
			c.All[column(truth[j])][column(l)]++
			if i < len(audits) && j < len(audits[i].Grades) && audits[i].Grades[j].Given && truth[j] != domain.Uncertain {
				v := audits[i].Grades[j].Value
				b := &c.Bins[min(int(v*10), 9)]
				b.Score = (b.Score*float64(b.Cells) + v) / float64(b.Cells+1)
				b.Cells++
				if truth[j] == domain.Positive {
					b.Right++
				}
			}
		}
		if said != domain.Uncertain {
			row := 1
			if success {
				row = 0
			}
			c.Outcomes[row][column(said)]++
		}
	}
	c.AddAudits(audits)
}

// AddAudits counts what audits say of the critic itself; those of candidates have blinded cells.
func (c *Check) AddAudits(audits []Audit) {
	for _, a := range audits {
		c.Blinded, c.Again, c.Repairs, c.Spread = c.Blinded+a.Blinded, c.Again+a.Again, c.Repairs+a.Repairs, max(c.Spread, a.Spread)
		for _, f := range a.Faults {
			c.Faults[f.Kind]++
		}
	}
}
