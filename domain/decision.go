package domain

import (
	"fmt"
	"slices"
	"strings"
)

// Usage counts the tokens of one model call.
type Usage struct {
	Prompt int `json:"prompt"`
	Cached int `json:"cached,omitempty"`
	// Answer includes thinking.
	Answer int `json:"answer"`
	// Thought is the part of Answer that a reasoning model thought, if the server reports it.
	Thought int `json:"thought,omitempty"`
	// Estimated means that the server does not report tokens: some of them are estimated from the texts.
	Estimated bool `json:"estimated,omitempty"`
}

// Plus returns the tokens of both calls.
func (u Usage) Plus(more Usage) Usage {
	return Usage{
		Prompt:  u.Prompt + more.Prompt,
		Cached:  u.Cached + more.Cached,
		Answer:  u.Answer + more.Answer,
		Thought: u.Thought + more.Thought,

		Estimated: u.Estimated || more.Estimated,
	}
}

// Cell (i, j) of the action matrix is what agent i said in round j.
type Cell struct {
	Agent int `json:"agent"`
	Round int `json:"round"`
	// Text is the reason and the action as the agent wrote them.
	Text string `json:"text"`
	// Action is nil if the text does not parse.
	Action *Action `json:"action,omitempty"`
	// Canonical is the canonical form of Action on the step's observation.
	Canonical  string `json:"canonical,omitempty"`
	ParseError string `json:"parse_error,omitempty"`
	// Repaired names how Text differs from the form in the prompt, if it was read nevertheless (docs/method.md, What
	// is read).
	Repaired []string `json:"repaired,omitempty"`
	// Refused is the reason why the model refused the prompt. The agent then says nothing, and nothing is learned of
	// it.
	Refused string `json:"refused,omitempty"`
	// Thought is what a reasoning model thought before it wrote Text.
	Thought string `json:"thought,omitempty"`
	// LogProb is the sum over the tokens of the response, if the server reports it.
	LogProb float64 `json:"logprob,omitempty"`
	Usage   Usage   `json:"usage"`
	// Calls is the number of calls that led to the answer, the last one with Prompt; 0 means one.
	Calls int `json:"calls,omitempty"`
	// Prompt is the exact user message that the agent saw.
	Prompt string `json:"prompt"`
	// Image is the digest of the picture that the agent saw with it. It is empty if it saw none.
	Image string `json:"image,omitempty"`
	// LeftOut is what the prompt lacks because of the limits of prompts, or because the policy reads no more.
	LeftOut LeftOut `json:"left_out,omitzero"`
	// Told holds the indices of elements that the prompt does not show, but that peers' actions in it name.
	Told []int `json:"told,omitempty"`
}

// Votes reports whether the cell has a vote: it parses and is not an act of speech.
func (c Cell) Votes() bool { return c.Action != nil && !c.Action.Speech() }

// LeftOut is what a prompt lacks of the agent's view.
type LeftOut struct {
	// History counts the oldest lines of the history that a prompt may show.
	History int `json:"history,omitempty"`
	// Elements holds the indices of elements, in ascending order.
	Elements []int `json:"elements,omitempty"`

	// Texts counts the texts that the prompt shows only in part, because they are longer than its limits.
	Texts int `json:"texts,omitempty"`
	// Older counts the lines of the history that are older than those that a prompt may show.
	Older int `json:"older,omitempty"`
	// Beyond counts the elements beyond the number that a prompt may show.
	Beyond int `json:"beyond,omitempty"`
}

// Any reports whether the prompt lacks anything.
func (l LeftOut) Any() bool {
	return l.History > 0 || len(l.Elements) > 0 || l.Texts > 0 || l.Older > 0 || l.Beyond > 0
}

// String describes what the prompt lacks, such as "3 history lines, 1 element". It returns "" if
// the prompt lacks nothing.
func (l LeftOut) String() string {
	var out []string
	for _, part := range []struct {
		count     int
		one, many string
	}{
		{l.History + l.Older, "history line", "history lines"},
		{len(l.Elements) + l.Beyond, "element", "elements"},
		{l.Texts, "end of a text", "ends of texts"},
	} {
		switch {
		case part.count == 1:
			out = append(out, "1 "+part.one)
		case part.count > 1:
			out = append(out, fmt.Sprintf("%d %s", part.count, part.many))
		}
	}

	return strings.Join(out, ", ")
}

// Vote is the outcome of the vote over some of the cells.
type Vote struct {
	// Canonical is the winner. It is empty if no cell parsed, and the step is then a no-op.
	Canonical string `json:"canonical"`
	Votes     int    `json:"votes"`
	// Rule is what decided: majority, last-round or scan.
	Rule string `json:"rule"`
}

// Decision is one step's action matrix and the action that it led to.
type Decision struct {
	// Cells are ordered by agent, then by round.
	Cells    []Cell `json:"cells"`
	Executed Action `json:"executed"`
	AllRound Vote   `json:"all_rounds"`
	LastOnly Vote   `json:"last_round"`

	// Seen holds, for each agent, the indices of the elements of its view. Its prompts showed them, except those that
	// Cell.LeftOut names. Older records lack it.
	Seen [][]int `json:"seen,omitempty"`
	// Image is the digest of the picture of the whole screen, which models of other roles see. It is empty if agents
	// see none.
	Image string `json:"image,omitempty"`
}

// Cut counts the cells whose prompts lack a part of the agent's view.
func (d Decision) Cut() int {
	n := 0
	for _, cell := range d.Cells {
		if cell.LeftOut.Any() {
			n++
		}
	}

	return n
}

// Refused counts the cells whose prompts the model refused.
func (d Decision) Refused() int {
	n := 0
	for _, cell := range d.Cells {
		if cell.Refused != "" {
			n++
		}
	}

	return n
}

// Repaired counts the cells that were read although they do not have the form that the prompt demands.
func (d Decision) Repaired() int {
	n := 0
	for _, cell := range d.Cells {
		if len(cell.Repaired) > 0 {
			n++
		}
	}

	return n
}

// Divided reports whether an agent saw elements that another one did not see.
func (d Decision) Divided() bool {
	for _, seen := range d.Seen {
		if !slices.Equal(seen, d.Seen[0]) {
			return true
		}
	}

	return false
}

// OnlySpeech reports whether agents spoke and none acted: nothing is executed then.
func (d Decision) OnlySpeech() bool {
	spoke := false
	for _, cell := range d.Cells {
		if cell.Votes() {
			return false
		}
		spoke = spoke || cell.Action != nil
	}

	return spoke
}

// Cell returns the cell of an agent in a round. Rounds is the number of rounds of the matrix.
func (d Decision) Cell(agent, round, rounds int) Cell { return d.Cells[agent*rounds+round] }
