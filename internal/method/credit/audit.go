package credit

import (
	"slices"

	"github.com/collabui/collabui/domain"
)

// Score is the critic's grade for one cell.
type Score struct {
	Agent  int     `json:"agent"`
	Round  int     `json:"round"`
	Value  float64 `json:"score"`
	Reason string  `json:"reason"`

	// Given is false if the critic gave no usable score even after the repair turn. The label is then ∅.
	Given bool `json:"given"`
}

// Audit records how a critic that is a model arrived at the labels of one step.
type Audit struct {
	Step   int     `json:"step"`
	Grades []Score `json:"grades"` // in the order of the decision's cells

	// Means holds the mean scores from which labels follow, by canonical action. Spread is the largest difference
	// between two scores of the same canonical action.
	Means  map[string]float64 `json:"means"`
	Spread float64            `json:"spread"`

	Repairs int           `json:"repairs"`
	Faults  []CriticFault `json:"faults,omitempty"` // why cells lack scores

	Prompt  string `json:"prompt"` // digest of the template
	Version string `json:"prompt_version"`

	// Blinded counts cells labelled 1 that were shuffled among adversarial candidates. Again counts the ones that were
	// labelled 1 again, which measures how consistent the critic is with itself.
	Blinded int `json:"blinded,omitempty"`
	Again   int `json:"again,omitempty"`

	Usage domain.Usage `json:"usage"`
}

// CriticFault is a reason why cells lack scores after the repair turn.
type CriticFault struct {
	Kind   string `json:"kind"` // FaultShape, FaultMissing or FaultRefused
	Detail string `json:"detail"`
}

// UselessReason returns the reason why the critic's answers about the step are unusable: its model refused a request,
// or no proposal got a score. It returns "" if some score is usable, or if there was nothing to grade.
func (a Audit) UselessReason() string {
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
