package domain

// Slot is one planned episode of an epoch. Replacement r > 0 stands for the task that takes the slot's place when the task itself is at fault.
type Slot struct {
	Epoch       int    `json:"epoch"`
	Number      int    `json:"number"`
	Replacement int    `json:"replacement,omitempty"`
	Task        Task   `json:"task"`
	Seed        uint64 `json:"seed"` // of the agents' calls: never the task's
}

// Step is one environment step as it was recorded before it was executed.
type Step struct {
	Number      int         `json:"number"` // from 1
	Goal        string      `json:"goal"`
	History     []string    `json:"history"`
	Observation Observation `json:"observation"`
	Decision    Decision    `json:"decision"`
	Right       []Action    `json:"oracle_right,omitempty"` // privileged: what the environment's judge knows; never shown to agents
}

// Outcome is how an episode ended.
type Outcome struct {
	Success   bool   `json:"success"`
	Truncated bool   `json:"truncated"`
	Steps     int    `json:"steps"`
	Invalid   int    `json:"invalid"` // steps at which nothing was executed by the agent's fault
	Void      string `json:"void,omitempty"`

	Metrics map[string]Metric `json:"metrics,omitempty"` // of recorded tasks
}

// Metric is a figure over the scored steps of one episode: its mean is Sum/N.
type Metric struct {
	Sum float64 `json:"sum"`
	N   int     `json:"n"`
}

// Label of a cell.
type Label int8

// Labels. Uncertain cells are never chosen and never rejected.
const (
	Negative  Label = 0
	Positive  Label = 1
	Uncertain Label = -1
)

// Credit is the reward matrix of one step, in the order of Decision.Cells.
type Credit struct {
	Step   int     `json:"step"`
	Labels []Label `json:"labels"`
}

// Pair is one preference: on prompt x (exactly what the agent saw) chosen is better than rejected.
type Pair struct {
	Agent             int     `json:"agent"`
	Slot              int     `json:"slot"`
	Step              int     `json:"step"`
	Round             int     `json:"round"`
	Template          string  `json:"template"`
	Prompt            string  `json:"prompt"`
	Chosen            string  `json:"chosen"`
	Rejected          string  `json:"rejected"`
	ChosenCanonical   string  `json:"chosen_canonical"`
	RejectedCanonical string  `json:"rejected_canonical"`
	Source            Source  `json:"source"`
	Weight            float64 `json:"weight"`
	Image             string  `json:"image,omitempty"` // digest of the screenshot, where one belongs to the prompt
}
