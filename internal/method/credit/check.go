package credit

import "github.com/collabui/collabui/domain"

// Confusion counts a critic's labels against the environment's judge as [truth][label], both in the order 1, 0, ∅.
type Confusion [3][3]int

func column(label domain.Label) int {
	switch label {
	case domain.Positive:
		return 0
	case domain.Negative:
		return 1
	}

	return 2
}

// Agreement returns the share of cells that judge and critic label alike, and the number n of cells that both label. If
// n is 0, so is the share.
func (c Confusion) Agreement() (rate float64, n int) {
	n = c[0][0] + c[0][1] + c[1][0] + c[1][1]
	if n == 0 {
		return 0, 0
	}

	return float64(c[0][0]+c[1][1]) / float64(n), n
}

// Bin is a row of a calibration table: the cells whose scores lie in [Low, Low+0.1). The last bin includes 1.
type Bin struct {
	Low   float64 `json:"low"`
	Cells int     `json:"cells"`
	Right int     `json:"right"` // according to the judge
	Score float64 `json:"score"` // mean
}

func (b *Bin) add(score float64, right bool) {
	b.Score = (b.Score*float64(b.Cells) + score) / float64(b.Cells+1)
	b.Cells++
	if right {
		b.Right++
	}
}

// Check compares a critic with the environment's judge.
type Check struct {
	Steps    int                  `json:"steps"`
	All      Confusion            `json:"all"`
	ByAction map[string]Confusion `json:"by_action"`
	Bins     [10]Bin              `json:"calibration"` // of a critic that is a model

	// Outcomes counts executed actions by the episode's outcome and their label: [success, failure][1, 0, in this
	// order].
	Outcomes [2][2]int `json:"outcomes"`

	// Blinded counts right cells that were shown again among the adversary's candidates. Again counts the ones that
	// were labelled 1 again.
	Blinded int `json:"blinded"`
	Again   int `json:"again"`

	Faults  map[string]int `json:"faults"` // answers that stayed incomplete, by kind
	Repairs int            `json:"repairs"`
	Spread  float64        `json:"spread"` // largest difference between scores of one action at one step
}

// NewCheck returns an empty check.
func NewCheck() *Check {
	check := &Check{ByAction: map[string]Confusion{}, Faults: map[string]int{}}
	for i := range check.Bins {
		check.Bins[i].Low = float64(i) / 10
	}

	return check
}

// Add counts one graded episode. audits is empty if the critic is not a model.
func (c *Check) Add(steps []domain.Step, credits []domain.Credit, audits []Audit, success bool) {
	outcome := 1
	if success {
		outcome = 0
	}
	for i, step := range steps {
		var grades []Score
		if i < len(audits) {
			grades = audits[i].Grades
		}
		if executed := c.step(step, credits[i].Labels, grades); executed != domain.Uncertain {
			c.Outcomes[outcome][column(executed)]++
		}
	}
	c.AddAudits(audits)
}

// step counts the cells of a step, except acts of speech, which the judge does not know, and returns the label of the
// executed action.
func (c *Check) step(s domain.Step, labels []domain.Label, grades []Score) domain.Label {
	c.Steps++
	truth := Oracle(s).Labels
	executedAction := s.Decision.Executed.Canonical(s.Observation)
	executed := domain.Uncertain
	for j, cell := range s.Decision.Cells {
		if speaks(cell) {
			continue
		}
		kind := domain.ActionNone
		if cell.Action != nil {
			kind = cell.Action.Type
			if cell.Canonical == executedAction {
				executed = labels[j]
			}
		}
		row := column(truth[j])
		col := column(labels[j])
		by := c.ByAction[kind]
		by[row][col]++
		c.ByAction[kind] = by
		c.All[row][col]++
		if j < len(grades) && grades[j].Given && truth[j] != domain.Uncertain {
			v := grades[j].Value
			c.Bins[min(int(v*10), 9)].add(v, truth[j] == domain.Positive)
		}
	}

	return executed
}

// AddAudits counts what audits record about the critic itself. Only audits of candidates have blinded cells.
func (c *Check) AddAudits(audits []Audit) {
	for _, audit := range audits {
		c.Blinded += audit.Blinded
		c.Again += audit.Again
		c.Repairs += audit.Repairs
		c.Spread = max(c.Spread, audit.Spread)
		for _, criticFault := range audit.Faults {
			c.Faults[criticFault.Kind]++
		}
	}
}
