package runs

import "github.com/collabui/collabui/domain"

// Answer is one recorded call to a chat endpoint. The digest of the request is its name.
type Answer struct {
	Endpoint  string       `json:"endpoint"` // the endpoint's name in the specification
	Model     string       `json:"model"`
	Role      string       `json:"role"`
	Prompt    string       `json:"prompt"` // digest of the role's template
	Version   string       `json:"prompt_version"`
	Epoch     int          `json:"epoch,omitempty"` // the first epoch that requested it; 0: before stage 2
	Texts     []string     `json:"texts"`
	Reasoning []string     `json:"reasoning,omitempty"`
	LogProbs  []float64    `json:"logprobs,omitempty"`
	Usage     domain.Usage `json:"usage"`
	LeftOut   []string     `json:"left_out,omitempty"` // parameters that the server refuses, in order
	Cost      float64      `json:"cost"`               // cost at the specification's prices
}
