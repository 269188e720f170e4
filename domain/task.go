package domain

// Splits of a suite (METHOD.md section 4). Word pools of train, val and the two test splits are disjoint.
const (
	SplitTrain         = "train"
	SplitVal           = "val"            // training templates, own seeds
	SplitTestSeeds     = "test-seeds"     // training templates, own seeds and words
	SplitTestTemplates = "test-templates" // held-out templates
)

// Splits lists all splits.
var Splits = []string{SplitTrain, SplitVal, SplitTestSeeds, SplitTestTemplates}

// Task is a goal together with an environment template, its parameters' seed and a step budget.
type Task struct {
	Suite    string `json:"suite"`
	Template string `json:"template"`
	Split    string `json:"split"`
	Seed     uint64 `json:"seed"`
	MaxSteps int    `json:"max_steps"`
}
