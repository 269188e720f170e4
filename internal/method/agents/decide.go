package agents

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/chat"
)

// errCertain ends a decision as soon as its winner is certain.
var errCertain = errors.New("the remaining cells cannot change the vote")

// Decide queries every agent in every round and counts the votes. The seed is the step's seed; each call's seed is
// derived from it, the agent and the round. A cell waits only for the cells that its prompt contains, which are the
// agent's own cell of the previous round and its predecessors' cells of the same round, so independent agents are
// queried concurrently. With Early, the cells after the point at which the winner is certain, in the order of rounds
// and speakers, stay empty, so the result does not depend on timing. If the prompts of all cells are refused, the error
// is a refused fault. Decide may be repeated.
func Decide(ctx context.Context, model chat.Model, config Config, view View, seed uint64) (domain.Decision, error) {
	order, err := config.Topology.Order()
	if err != nil {
		return domain.Decision{}, err
	}

	parent := ctx
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)

	m := newMatrix(model, config, order, seed)
	decision := domain.Decision{
		Cells: m.cells, Seen: make([][]int, len(config.Policies)), Image: view.Picture.Digest,
	}
	var wg sync.WaitGroup
	views := config.AgentViews(view)
	for agent := range config.Policies {
		decision.Seen[agent] = views[agent].indices()
		wg.Go(func() {
			if err := m.fillAgent(ctx, agent, views[agent]); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()

	if err := context.Cause(ctx); err != nil && (!errors.Is(err, errCertain) || parent.Err() != nil) {
		return domain.Decision{}, err
	}
	if err := m.checkRefusals(); err != nil {
		return domain.Decision{}, err
	}
	m.vote.clear()
	decision.AllRound = Count(decision.Cells, config.Rounds, order, false)
	decision.LastOnly = Count(decision.Cells, config.Rounds, order, true)
	decision.Executed = m.vote.executed(config.VoteScope.Winner(decision).Canonical)

	return decision, nil
}

// matrix is the action matrix of one step while it is being filled. Cells are ordered by agent, then by round.
type matrix struct {
	model  chat.Model
	conf   Config
	seed   uint64
	cells  []domain.Cell
	filled []chan struct{} // closed when the cell has been filled
	vote   *earlyVote
}

func newMatrix(model chat.Model, config Config, order []int, seed uint64) *matrix {
	m := &matrix{model: model, conf: config, seed: seed}
	m.cells = make([]domain.Cell, len(config.Policies)*config.Rounds)
	m.filled = make([]chan struct{}, len(m.cells))
	for i := range m.filled {
		m.filled[i] = make(chan struct{})
	}
	m.vote = newEarlyVote(m.cells, config.Rounds, order, config.VoteScope)

	return m
}

// fillAgent fills the cells of one agent, round by round. It returns errCertain as soon as the winner is certain.
func (m *matrix) fillAgent(ctx context.Context, agent int, view View) error {
	for j := range m.conf.Rounds {
		if err := m.fillCell(ctx, view, agent, j); err != nil {
			return err
		}
		close(m.filled[m.at(agent, j)])
		if m.conf.Early && m.vote.certainAfter(agent, j) {
			return errCertain
		}
	}

	return nil
}

// fillCell queries an agent in round j and fills its cell.
func (m *matrix) fillCell(ctx context.Context, view View, agent, j int) error {
	peers, err := m.peers(ctx, agent, j)
	if err != nil {
		return err
	}
	own := ""
	if j > 0 {
		own = m.cells[m.at(agent, j-1)].Text
	}

	template := m.conf.template()
	user, left, err := template.Fit(view, own, peers)
	if err != nil {
		return err
	}
	response, err := m.model.Complete(ctx, m.conf.request(user, view.Picture, m.seed, agent, j))
	if fault.KindOf(err) == fault.Refused {
		m.cells[m.at(agent, j)] = domain.Cell{
			Agent: agent, Round: j, Prompt: user, Image: view.Picture.Digest, LeftOut: left, Refused: Refusal(err),
		}

		return nil
	}
	if err != nil {
		return fmt.Errorf("agent %d, round %d: %w", agent, j, err)
	}

	reader := Reader{Parsing: m.conf.Answers, Speech: m.conf.Speech}
	cell := reader.Cell(agent, j, response.Texts[0], user, view.Observation)
	cell.Image = view.Picture.Digest
	response.Read(cell.ParseError)
	cell.Usage = response.Usage
	cell.LeftOut = left
	cell.Told = view.peerElements(left, peers)
	if len(response.Reasoning) > 0 {
		cell.Thought = response.Reasoning[0]
	}
	if len(response.LogProbs) > 0 {
		cell.LogProb = response.LogProbs[0]
	}
	m.cells[m.at(agent, j)] = cell

	return nil
}

// Refusal returns the part of a model's reason for refusing a prompt that is recorded: one line of at most 300
// characters.
func Refusal(err error) string { return Line(err.Error(), 300) }

// checkRefusals returns a refused fault if the prompts of all cells were refused, because then there is nothing to vote
// on.
func (m *matrix) checkRefusals() error {
	for _, cell := range m.cells {
		if cell.Refused == "" {
			return nil
		}
	}

	return fault.New(fault.Refused, "the prompts of all %d cells were refused: %s", len(m.cells), m.cells[0].Refused)
}

// peers waits for the messages that an agent reads in a round. Refused peers send no message.
func (m *matrix) peers(ctx context.Context, agent, j int) ([]Message, error) {
	var out []Message
	for _, source := range m.conf.Sources(agent, j) {
		at := m.at(source.Agent, source.Round)
		select {
		case <-m.filled[at]:
			if text, ok := m.conf.Said(m.cells[at]); ok {
				out = append(out, Message{Agent: source.Agent, Text: text})
			}
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}

	return out, nil
}

func (m *matrix) at(agent, round int) int { return agent*m.conf.Rounds + round }

// NewCell makes a cell from an agent's text, which is parsed as Usual does. Acts of speech do not parse.
func NewCell(agent, round int, text, prompt string, observation domain.Observation) domain.Cell {
	return Reader{}.Cell(agent, round, text, prompt, observation)
}

// Reader reads the answers of the agents of a system.
type Reader struct {
	Parsing Parsing
	Speech  bool // whether agents may speak; otherwise, acts of speech do not parse
}

// Action parses the action of a text or, if agents may speak, its act of speech.
func (r Reader) Action(text string) (domain.Action, error) {
	parsed := r.read(text)

	return parsed.action, parsed.err
}

func (r Reader) read(text string) answer {
	parsed := r.Parsing.read(text)
	if parsed.err == nil && !r.Speech {
		parsed.err = refuseSpeech(parsed.action)
	}

	return parsed
}

// Cell makes a cell from an agent's text.
func (r Reader) Cell(agent, round int, text, prompt string, observation domain.Observation) domain.Cell {
	cell := domain.Cell{Agent: agent, Round: round, Text: text, Prompt: prompt}
	parsed := r.read(text)
	if parsed.err != nil {
		cell.ParseError = parsed.err.Error()

		return cell
	}
	cell.Action = &parsed.action
	cell.Canonical = parsed.action.Canonical(observation)
	for _, repair := range parsed.repairs {
		cell.Repaired = append(cell.Repaired, string(repair))
	}

	return cell
}
