package credit

import (
	"slices"

	"github.com/collabui/collabui/domain"
)

// Score is what the critic said of one cell.
type Score struct {
	Agent  int     `json:"agent"`
	Round  int     `json:"round"`
	Value  float64 `json:"score"`
	Reason string  `json:"reason"`

	// Given is false if the critic gave no usable score even after one repair turn. The label is then ∅.
	Given bool `json:"given"`
}

// Audit says how the labels of one step came about.
type Audit struct {
	Step   int     `json:"step"`
	Grades []Score `json:"grades"` // grades in the order of the decision's cells

	// Means are the scores that labels follow from, by canonical action. Spread is the largest difference between
	// scores of one canonical action.
	Means  map[string]float64 `json:"means"`
	Spread float64            `json:"spread"`

	Repairs int           `json:"repairs"`
	Faults  []CriticFault `json:"faults,omitempty"` // why cells have no score

	Prompt  string `json:"prompt"` // digest of the template
	Version string `json:"prompt_version"`

	// Blinded counts cells labelled 1 that were shuffled among adversarial candidates, Again those of them that were
	// labelled 1 again: the critic's consistency with itself.
	Blinded int `json:"blinded,omitempty"`
	Again   int `json:"again,omitempty"`

	Usage domain.Usage `json:"usage"`
}

// CriticFault says why cells have no score after the repair turn.
type CriticFault struct {
	Kind   string `json:"kind"` // FaultShape, FaultMissing or FaultRefused
	Detail string `json:"detail"`
}

// Useless returns why the critic said nothing of use about the step: its model refused a request, or no proposal got a
// score. It is empty if something is of use, or if there was nothing to grade.
func (a Audit) Useless() string {
	for _, criticFault := range a.Faults {
		if criticFault.Kind == FaultRefused {
			return criticFault.Detail
		}
	}
	if len(a.Faults) == 0 || slices.ContainsFunc(a.Grades, func(score Score) bool { return score.Given }) {
		return ""
	}

	return a.Faults[0].Detail
}

// Kinds of a critic's faults.
const (
	FaultShape   = "shape"   // The answer has no readable list of grades.
	FaultMissing = "missing" // Cells have no usable score.
	FaultRefused = "refused" // The model refused the request.
)
