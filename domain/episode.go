package domain

// Slot is one planned episode of an epoch.
type Slot struct {
	Epoch  int `json:"epoch"`
	Number int `json:"number"`
	// Replacement counts the tasks that the slot had before, each dropped because the task itself was at fault.
	Replacement int  `json:"replacement,omitempty"`
	Task        Task `json:"task"`
	// Seed is the root seed of the agents' calls. It is independent of the task's seed.
	Seed uint64 `json:"seed"`
}

// Step is one environment step, as recorded before its action was executed.
type Step struct {
	// Number counts from 1.
	Number      int         `json:"number"`
	Goal        string      `json:"goal"`
	History     []string    `json:"history"`
	Observation Observation `json:"observation"`
	Decision    Decision    `json:"decision"`
	// Right lists the actions that the environment's judge knows to be right. It is privileged: agents never see it.
	Right []Action `json:"oracle_right,omitempty"`
}

// Outcome is how an episode ended.
type Outcome struct {
	Success   bool `json:"success"`
	Truncated bool `json:"truncated"`
	Steps     int  `json:"steps"`
	// Invalid counts the steps at which nothing was executed because of a mistake of the agents.
	Invalid int `json:"invalid"`
	// Cut counts the cells whose prompts lack a part of the agent's view or the end of a text.
	Cut int `json:"cut,omitempty"`
	// Refused counts the cells whose prompts the model refused.
	Refused int `json:"refused,omitempty"`
	// Repaired counts the cells that were read although they do not have the form that the prompt demands.
	Repaired int `json:"repaired,omitempty"`
	// Void is the reason why the episode does not count. It is empty if the episode counts.
	Void string `json:"void,omitempty"`
	// Metrics are the figures of recorded tasks, by name.
	Metrics map[string]Metric `json:"metrics,omitempty"`
}

// Metric is a figure over the scored steps of one episode. Its mean is Sum/N.
type Metric struct {
	Sum float64 `json:"sum"`
	N   int     `json:"n"`
}

// Label is a critic's judgement of a cell.
type Label int8

// The labels. Pairs never choose or reject an uncertain cell.
const (
	Negative  Label = 0
	Positive  Label = 1
	Uncertain Label = -1
)

// Credit is the reward matrix of one step: a label per cell, in the order of Decision.Cells.
type Credit struct {
	Step   int     `json:"step"`
	Labels []Label `json:"labels"`
	// Effects holds what the acts of speech changed, in the order of their cells, if they are labelled by effect.
	Effects []Effect `json:"effects,omitempty"`
}

// Effect is what an act of speech changed in the answers of its readers (docs/method.md, Credit for messages).
type Effect struct {
	// Cell is the index of the act of speech in Decision.Cells.
	Cell    int       `json:"cell"`
	Readers []Reading `json:"readers,omitempty"`
	// Instead holds, for a pass, what the agent could have answered to the same prompt.
	Instead []Alternative `json:"instead,omitempty"`
}

// Reading is the answer of a reader with another message, or without one, sampled with the seed of its cell.
type Reading struct {
	// Cell is the index of the reader's cell in Decision.Cells.
	Cell      int    `json:"cell"`
	Text      string `json:"text"`
	Canonical string `json:"canonical,omitempty"`
	// With is the label of the reader's cell as it was recorded, and Without the label of Text. An act of speech counts
	// as not right.
	With    Label `json:"with"`
	Without Label `json:"without"`
}

// Alternative is an answer that an agent could have given instead of passing.
type Alternative struct {
	Text      string `json:"text"`
	Canonical string `json:"canonical,omitempty"`
	// Label is 1 if the answer would have helped: a right action, or speech with which more readers are right.
	Label   Label     `json:"label"`
	Readers []Reading `json:"readers,omitempty"`
}

// Example is one training example. Prompt is exactly what the agent saw. Source is the tag that states what kind of
// example it is:
//
//   - a preference pair: Chosen is better than Rejected (adversary, own, peer, correction, candidate, imported);
//   - a sample of GRPO: Chosen is one answer of the agent, with its Advantage (group);
//   - a right answer without a rejected one, which serves SFT only (none), or a demonstration (expert);
//   - an answer to a question about a screen: its Source is the kind of the question (level 1 of stage 1).
type Example struct {
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
	// Advantage is the advantage of a sample, and 0 in a pair. A sample is an answer of the agent, in Chosen, without a
	// rejected one: GRPO makes it more probable if the advantage is above 0, and less probable if it is below.
	Advantage float64 `json:"advantage,omitempty"`
	// Image is the digest of the screenshot that belongs to the prompt. It is empty without one.
	Image string `json:"image,omitempty"`
}

// Learned returns the answers of a pair or sample that training is to make more and less probable, or "".
func (e Example) Learned() (more, less string) {
	if e.Advantage < 0 {
		return "", e.Chosen
	}

	return e.Chosen, e.Rejected
}
