package credit

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/chat"
)

// listeners is the number of answers that are sampled concurrently.
const listeners = 8

// Listening samples what readers answer to other messages, and what agents answer instead of passing (docs/method.md,
// Credit for messages).
type Listening struct {
	Config agents.Config                                     // how the episode was played
	Seed   func(step int) uint64                             // returns the seed of a step's calls
	Answer func(context.Context, chat.Request, *Asked) error // sets the texts and the usage of a call for an agent

	// Propose sets the model, seed, texts and usage of a call for n answers to the prompt of a pass.
	Propose    func(ctx context.Context, step domain.Step, cell domain.Cell, n int, asked *Asked) error
	Candidates int // answers in the place of a pass (K)

	Grade Grade // labels the actions among the answers

	Asks  int         // maximum of answers that are sampled at a step
	Spent map[int]int // answers that have been sampled, by step

	// Asked holds the calls in a fixed order.
	Asked []Asked
}

// Asked is a call for answers, with what became of it.
type Asked struct {
	Step, Agent, Round int
	Model              string
	Seed               uint64
	Texts              []string
	LogProbs           []float64
	Usage              domain.Usage
	Refused            string // why the model refused the call
}

// hearing is the work of a Listening on one step.
type hearing struct {
	*Listening
	step   domain.Step
	labels []domain.Label          // of the recorded cells
	known  map[string]domain.Label // of actions, by canonical form

	replies  map[request]*reply
	planned  []*reply // not sampled yet
	replayed map[int]bool
	full     bool // the bound has been reached
}

// request identifies a call of a step. All calls of an agent have the same model and decoding.
type request struct {
	agent  int
	prompt string
	seed   uint64
	n      int
}

// reply is a call, once it has been sampled.
type reply struct {
	asked  Asked
	cost   int // number of answers
	prompt string
	sample func(ctx context.Context, asked *Asked) error
}

// hear begins the work on a step.
func (l *Listening) hear(step domain.Step, credit domain.Credit) *hearing {
	if l.Spent == nil {
		l.Spent = map[int]int{}
	}
	h := &hearing{
		Listening: l, step: step, labels: credit.Labels, known: map[string]domain.Label{},
		replies: map[request]*reply{}, replayed: map[int]bool{},
	}
	for _, effect := range credit.Effects {
		h.know(effect.Readers)
		for _, alternative := range effect.Instead {
			h.know(alternative.Readers)
			if alternative.Label != domain.Uncertain {
				h.known[alternative.Canonical] = alternative.Label
			}
		}
	}
	for i, cell := range step.Decision.Cells { // these labels stand, also if a person changed them
		if cell.Votes() && credit.Labels[i] != domain.Uncertain {
			h.known[cell.Canonical] = credit.Labels[i]
		}
	}

	return h
}

// know takes the labels of sampled answers.
func (h *hearing) know(readings []domain.Reading) {
	for _, reading := range readings {
		if reading.Canonical != "" && reading.Without != domain.Uncertain {
			h.known[reading.Canonical] = reading.Without
		}
	}
}

// inOrder returns the indices of the cells that fit, by round and agent.
func (h *hearing) inOrder(fits func(domain.Cell) bool) []int {
	var out []int
	for round := range h.Config.Rounds {
		for i, cell := range h.step.Decision.Cells {
			if cell.Round == round && fits(cell) {
				out = append(out, i)
			}
		}
	}

	return out
}

// readers returns the indices of the cells that read the message of cell i, by round and agent. It leaves out the cells
// whose recorded label is ∅, because no other answer can be compared with them.
func (h *hearing) readers(i int) []int {
	cell := h.step.Decision.Cells[i]
	source := agents.Source{Agent: cell.Agent, Round: cell.Round}
	readers := h.inOrder(func(reader domain.Cell) bool {
		return slices.Contains(h.Config.Sources(reader.Agent, reader.Round), source)
	})

	return slices.DeleteFunc(readers, func(k int) bool { return h.with(k) == domain.Uncertain || !h.replays(k) })
}

// with returns the label of a reader as it was recorded. An act of speech counts as not right.
func (h *hearing) with(reader int) domain.Label {
	cell := h.step.Decision.Cells[reader]
	switch {
	case cell.Refused != "":
		return domain.Uncertain
	case cell.Action != nil && cell.Action.Speech():
		return domain.Negative
	}

	return h.labels[reader]
}

// replays reports whether the prompt of a cell is rendered as it was recorded.
func (h *hearing) replays(i int) bool {
	same, known := h.replayed[i]
	if !known {
		cell := h.step.Decision.Cells[i]
		again, err := h.again(i, nil)
		same = err == nil && again.User == cell.Prompt
		h.replayed[i] = same
	}

	return same
}

// again returns the request of a cell with other messages: see agents.Config.Again.
func (h *hearing) again(i int, said func(agents.Source) (string, bool)) (chat.Request, error) {
	cell := h.step.Decision.Cells[i]
	view := agents.View{Goal: h.step.Goal, History: h.step.History, Observation: h.step.Observation}

	return h.Config.Again(view, h.step.Decision, h.Seed(h.step.Number), cell.Agent, cell.Round, said)
}

// listen plans the calls of all readers of cell i with another message, or without one if text is nil. It returns nil
// if the calls are more than the bound allows.
func (h *hearing) listen(i int, readers []int, text *string) ([]*reply, error) {
	cell := h.step.Decision.Cells[i]
	said := func(source agents.Source) (string, bool) {
		if source != (agents.Source{Agent: cell.Agent, Round: cell.Round}) {
			return h.Config.Said(h.step.Decision.Cells[source.Agent*h.Config.Rounds+source.Round])
		}
		if text == nil {
			return "", false
		}

		return *text, true
	}

	keys := make([]request, len(readers))
	calls := make([]*reply, len(readers))
	for k, reader := range readers {
		asks, err := h.again(reader, said)
		if err != nil {
			return nil, err
		}
		at := h.step.Decision.Cells[reader]
		keys[k] = request{agent: at.Agent, prompt: asks.User, seed: asks.Seed, n: 1}
		calls[k] = &reply{
			asked: Asked{Agent: at.Agent, Round: at.Round, Model: asks.Model, Seed: asks.Seed}, cost: 1,
			prompt: asks.User,
			sample: func(ctx context.Context, asked *Asked) error { return h.Answer(ctx, asks, asked) },
		}
	}

	return h.plan(keys, calls), nil
}

// alternatives plans the call for what the agent could have answered in the place of the pass in cell i. It returns nil
// if the answers are more than the bound allows.
func (h *hearing) alternatives(i int) *reply {
	cell := h.step.Decision.Cells[i]
	planned := h.plan(
		[]request{{agent: cell.Agent, prompt: cell.Prompt, n: h.Candidates}},
		[]*reply{{
			asked: Asked{Agent: cell.Agent, Round: cell.Round}, cost: h.Candidates, prompt: cell.Prompt,
			sample: func(ctx context.Context, asked *Asked) error {
				return h.Propose(ctx, h.step, cell, h.Candidates, asked)
			},
		}},
	)
	if planned == nil {
		return nil
	}

	return planned[0]
}

// plan plans calls that belong together, and returns them. Equal calls are made once. If the new ones have more answers
// than the bound leaves, plan returns nil, and so it does from then on.
func (h *hearing) plan(keys []request, calls []*reply) []*reply {
	cost := 0
	fresh := map[request]bool{}
	for k, key := range keys {
		if h.replies[key] == nil && !fresh[key] {
			fresh[key] = true
			cost += calls[k].cost
		}
	}
	if h.full || h.Spent[h.step.Number]+cost > h.Asks {
		h.full = true

		return nil
	}
	h.Spent[h.step.Number] += cost

	out := make([]*reply, len(keys))
	for k, key := range keys {
		if h.replies[key] == nil {
			calls[k].asked.Step = h.step.Number
			h.replies[key] = calls[k]
			h.planned = append(h.planned, calls[k])
		}
		out[k] = h.replies[key]
	}

	return out
}

// sample makes the planned calls, and adds them to Asked in the order in which they were planned.
func (h *hearing) sample(ctx context.Context) error {
	calls, ctx := errgroup.WithContext(ctx)
	calls.SetLimit(listeners)
	for _, planned := range h.planned {
		calls.Go(func() error {
			err := planned.sample(ctx, &planned.asked)
			if fault.KindOf(err) == fault.Refused {
				planned.asked.Texts = nil
				planned.asked.Refused = agents.Refusal(err)

				return nil
			}

			return err
		})
	}
	if err := calls.Wait(); err != nil {
		return err
	}
	for _, planned := range h.planned {
		h.Asked = append(h.Asked, planned.asked)
	}
	h.planned = nil

	return nil
}

// cell reads an answer to a prompt.
func (h *hearing) cell(asked Asked, text, prompt string) domain.Cell {
	reader := agents.Reader{Parsing: h.Config.Answers, Speech: h.Config.Speech}

	return reader.Cell(asked.Agent, asked.Round, text, prompt, h.step.Observation)
}

// answer returns what a reader answered, or a cell that was refused.
func (h *hearing) answer(call *reply) domain.Cell {
	if call.asked.Refused != "" || len(call.asked.Texts) == 0 {
		return domain.Cell{Agent: call.asked.Agent, Round: call.asked.Round, Refused: call.asked.Refused}
	}

	return h.cell(call.asked, call.asked.Texts[0], call.prompt)
}

// grade has the critic label the actions among some answers that have no label yet, in one call.
func (h *hearing) grade(ctx context.Context, answers []domain.Cell) error {
	var unknown []domain.Cell
	seen := map[string]bool{}
	for _, cell := range answers {
		if _, known := h.known[cell.Canonical]; cell.Votes() && !known && !seen[cell.Canonical] {
			seen[cell.Canonical] = true
			unknown = append(unknown, cell)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	labels, err := h.Grade(ctx, h.step, h.labels, unknown)
	if err != nil {
		return err
	}
	for i, cell := range unknown {
		h.known[cell.Canonical] = labels[i]
	}

	return nil
}

// label returns the label of an answer. An act of speech, and an answer without an action, count as not right.
func (h *hearing) label(answer domain.Cell) domain.Label {
	switch {
	case answer.Refused != "":
		return domain.Uncertain
	case !answer.Votes():
		return domain.Negative
	}
	if label, ok := h.known[answer.Canonical]; ok {
		return label
	}

	return domain.Uncertain
}

// readings compares the answers of readers with the recorded ones.
func (h *hearing) readings(readers []int, calls []*reply) []domain.Reading {
	var out []domain.Reading
	for k, call := range calls {
		answer := h.answer(call)
		out = append(out, domain.Reading{
			Cell: readers[k], Text: answer.Text, Canonical: answer.Canonical, With: h.with(readers[k]),
			Without: h.label(answer),
		})
	}

	return out
}

// gained returns how many more readers are right with the recorded message than with the other one, or without one.
// Readers with an answer that is labelled ∅ do not count.
func gained(readings []domain.Reading) int {
	n := 0
	for _, reading := range readings {
		if reading.With != domain.Uncertain && reading.Without != domain.Uncertain {
			n += int(reading.With) - int(reading.Without)
		}
	}

	return n
}
