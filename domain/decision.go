package domain

// Usage counts the tokens of one model call.
type Usage struct {
	Prompt  int `json:"prompt"`
	Cached  int `json:"cached,omitempty"`
	Answer  int `json:"answer"`            // thinking included
	Thought int `json:"thought,omitempty"` // the part of Answer that a reasoning model thought, where the server says so
}

// Plus adds the tokens of another call.
func (u Usage) Plus(v Usage) Usage {
	return Usage{u.Prompt + v.Prompt, u.Cached + v.Cached, u.Answer + v.Answer, u.Thought + v.Thought}
}

// Cell (i, j) of the action matrix: what agent i said in round j.
type Cell struct {
	Agent      int     `json:"agent"`
	Round      int     `json:"round"`
	Text       string  `json:"text"`                // reason and action, as written
	Action     *Action `json:"action,omitempty"`    // nil where the text does not parse
	Canonical  string  `json:"canonical,omitempty"` // of Action on this observation
	ParseError string  `json:"parse_error,omitempty"`
	Thought    string  `json:"thought,omitempty"` // what a reasoning model thought before its text; no part of it
	LogProb    float64 `json:"logprob,omitempty"` // sum over the response, where the server gives it
	Usage      Usage   `json:"usage"`
	Prompt     string  `json:"prompt"` // the exact user message that the agent saw
}

// Vote is the outcome of one scope.
type Vote struct {
	Canonical string `json:"canonical"` // empty: nothing parsed, the step is a no-op
	Votes     int    `json:"votes"`
	Rule      string `json:"rule"` // majority, last-round or scan: what decided
}

// Decision is one step's action matrix and what came of it.
type Decision struct {
	Cells    []Cell `json:"cells"` // by agent, then round
	Executed Action `json:"executed"`
	AllRound Vote   `json:"all_rounds"`
	LastOnly Vote   `json:"last_round"`

	// Seen holds, for each agent, the indices of the elements that its prompts showed. Older records lack it.
	Seen [][]int `json:"seen,omitempty"`
}

// Cell gives a cell of an n × rounds matrix.
func (d Decision) Cell(agent, round, rounds int) Cell { return d.Cells[agent*rounds+round] }
