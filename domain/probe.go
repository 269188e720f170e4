package domain

// Probe compares an updated policy with its parent and the base policy on prompts of its own data set.
// Log-probabilities are of whole answers, summed over their tokens, in nats; divergences and entropy are in nats
// per answer.
type Probe struct {
	Prompts int `json:"prompts"`
	// KL is the mean of log π − log π_parent over answers sampled from π.
	KL float64 `json:"kl"`
	// KLBase is the same against the base policy.
	KLBase float64 `json:"kl_base"`
	// LogprobDelta is the mean change of log π(chosen) against the parent.
	LogprobDelta float64 `json:"logprob_delta"`
	// Entropy is −mean log π of the sampled answers.
	Entropy   float64 `json:"entropy"`
	ParseRate float64 `json:"parse_rate"`
	// Length is the mean number of characters of the sampled answers.
	Length float64 `json:"length"`
	// Actions counts the types of the sampled actions.
	Actions map[string]int `json:"actions"`

	// Chosen, Rejected and Sampled are means over the same answers under the three policies.
	Chosen   LogProbs `json:"chosen,omitzero"`
	Rejected LogProbs `json:"rejected,omitzero"`
	Sampled  LogProbs `json:"sampled,omitzero"`
	// Displaced is the mean change, against the parent, of the probability that lies on neither the chosen nor the
	// rejected answer, 1 − π(y⁺|x) − π(y⁻|x): from −1 to 1.
	Displaced float64 `json:"displaced,omitempty"`
	// Preference is the share of the preference term in what the update pulls at, from 0 to 1; the rest is the SFT
	// term's.
	Preference float64 `json:"preference,omitempty"`
	// BySource are the means of the pairs whose rejected answers have the same source.
	BySource map[Source]ProbeSource `json:"by_source,omitempty"`
	// ByType are the means of the prompts whose chosen answers have the same action type.
	ByType map[string]ProbeType `json:"by_type,omitempty"`
	// Unknown is the reason why no log-probabilities are known: KL, KLBase, LogprobDelta, Entropy and all that is made
	// of log-probabilities are then 0. It is empty if they are known.
	Unknown string `json:"unknown,omitempty"`
}

// LogProbs are mean log-probabilities of the same answers under an updated policy, its parent and the base policy.
// Answers that a policy cannot say are left out.
type LogProbs struct {
	Policy float64 `json:"policy"`
	Parent float64 `json:"parent"`
	Base   float64 `json:"base"`
}

// Change is the change of the log-probability against the parent.
func (l LogProbs) Change() float64 { return l.Policy - l.Parent }

// ProbeSource is the part of a probe on pairs of one source.
type ProbeSource struct {
	Pairs    int      `json:"pairs"`
	Chosen   LogProbs `json:"chosen"`
	Rejected LogProbs `json:"rejected"`
}

// ProbeType is the part of a probe on prompts whose chosen answers have one action type.
type ProbeType struct {
	// Share is the share of the type among the chosen answers of the whole data set, from 0 to 1.
	Share   float64 `json:"share"`
	Prompts int     `json:"prompts"`
	// Sampled counts those prompts whose sampled answer has the type.
	Sampled int      `json:"sampled"`
	Chosen  LogProbs `json:"chosen"`
}

// Gap is how far two computations of log π of the same answers are apart, per token of the answer, in nats.
type Gap struct {
	// Answers is the number of answers that were compared, and Left the number of those that could not be.
	Answers int `json:"answers"`
	Left    int `json:"left,omitempty"`
	// Mean and Worst are over the answers.
	Mean  float64 `json:"mean"`
	Worst float64 `json:"worst"`
	// Limit is the highest mean that is no fault.
	Limit float64 `json:"limit,omitempty"`
	// Unknown is the reason why nothing was compared.
	Unknown string `json:"unknown,omitempty"`
}

// Wide reports whether the gap is above its limit.
func (g Gap) Wide() bool { return g.Answers > 0 && !(g.Mean <= g.Limit) }
