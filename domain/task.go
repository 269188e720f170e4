package domain

// The standard splits of a suite (docs/method.md). The words that fill in templates differ between train, val and the
// test splits.
const (
	SplitTrain = "train"
	// SplitVal has the training templates and its own seeds.
	SplitVal = "val"
	// SplitTestSeeds has the training templates and its own seeds and words.
	SplitTestSeeds = "test-seeds"
	// SplitTestTemplates has the templates that no other split has.
	SplitTestTemplates = "test-templates"
	// SplitTestApps has the apps that no other split has. It is optional: few suites know which app a template belongs
	// to.
	SplitTestApps = "test-apps"
)

// Splits lists the splits that every suite for training has.
var Splits = []string{SplitTrain, SplitVal, SplitTestSeeds, SplitTestTemplates}

// Task is a template of a suite with the seed that fills in its parameters and a budget of steps.
type Task struct {
	Suite    string `json:"suite"`
	Template string `json:"template"`
	Split    string `json:"split"`
	Seed     uint64 `json:"seed"`
	MaxSteps int    `json:"max_steps"`
}
