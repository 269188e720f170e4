package agents

import (
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/chat"
)

// Again returns the request that led to the answer of a cell of a recorded decision, with other messages: said returns
// the message of a source as the agent is to read it, and reports whether there is one. If said is nil, the messages
// are the recorded ones, and the request equals the recorded one. view is the view of the whole step, whose pictures
// are the recorded ones, and seed is the step's seed. Errors are errors of the template.
func (c Config) Again(
	view View, decision domain.Decision, seed uint64, agent, round int, said func(Source) (string, bool),
) (chat.Request, error) {
	at := func(source Source) domain.Cell { return decision.Cells[source.Agent*c.Rounds+source.Round] }
	if said == nil {
		said = func(source Source) (string, bool) { return c.Said(at(source)) }
	}
	own := ""
	if round > 0 {
		own = at(Source{Agent: agent, Round: round - 1}).Text
	}
	sees := c.AgentViews(view)[agent]
	sees.Picture = chat.Image{Digest: at(Source{Agent: agent, Round: round}).Image}
	user, _, err := c.template().Fit(sees, own, c.Messages(agent, round, said))

	return c.request(user, sees.Picture, seed, agent, round), err
}

// Messages returns what an agent reads in a round: for each of its sources, what said returns, if that reports a
// message.
func (c Config) Messages(agent, round int, said func(Source) (string, bool)) []Message {
	var out []Message
	for _, source := range c.Sources(agent, round) {
		if text, ok := said(source); ok {
			out = append(out, Message{Agent: source.Agent, Text: text})
		}
	}

	return out
}

// Said returns the message of a cell as peers read it. A cell whose prompt was refused has none.
func (c Config) Said(cell domain.Cell) (text string, ok bool) {
	return c.message(cell), cell.Refused == ""
}

// request returns the request of a cell with a user message and its picture. seed is the step's seed.
func (c Config) request(user string, picture chat.Image, seed uint64, agent, round int) chat.Request {
	return chat.Request{
		Model:       c.Policies[agent],
		System:      c.template().System(),
		User:        user,
		Images:      picture.Images(),
		Temperature: c.Temperature[agent],
		TopP:        c.TopP,
		MaxTokens:   c.MaxTokens,
		Seed:        domain.Seed(seed, "cell", agent, round),
		N:           1,
	}
}
