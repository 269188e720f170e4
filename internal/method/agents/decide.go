package agents

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/collabui/collabui/internal/method/chat"

	"github.com/collabui/collabui/domain"
)

// Config says how a system decides.
type Config struct {
	Policies    []string        `json:"policies"` // one per agent
	Topology    domain.Topology `json:"topology"`
	Rounds      int             `json:"rounds"`
	Temperature []float64       `json:"temperature"` // per agent
	TopP        float64         `json:"top_p"`
	MaxTokens   int             `json:"max_tokens"`
	VoteScope   VoteScope       `json:"vote_scope"`
	ViewDropout float64         `json:"view_dropout"` // share of elements that each agent misses
	Early       bool            `json:"early"`        // evaluation: cells that can no longer change the vote are not asked for
	Thoughts    bool            `json:"thoughts"`     // peers read what a reasoning model thought, too
	Template    *Template       `json:"-"`            // nil: Default
}

// VoteScope says which rounds count in the vote.
type VoteScope string

// Vote scopes.
const (
	ScopeAll  VoteScope = "all_rounds"
	ScopeLast VoteScope = "last_round"
)

// Decide runs all agents for all rounds and votes. seed is that of the step; every call's seed is derived from it, the agent and the round. A cell
// waits only for what it reads (its own previous round, its predecessors' same round), so independent agents speak at the same time. With Early, cells are
// left empty from the point, in the order of rounds and speakers, where the winner is certain: the winner and its votes up to there are the same whatever
// the timing was.
func Decide(ctx context.Context, model chat.Model, c Config, v View, seed uint64) (domain.Decision, error) {
	order, err := c.Topology.Order()
	if err != nil {
		return domain.Decision{}, err
	}
	n, m := len(c.Policies), c.Rounds
	d := domain.Decision{Cells: make([]domain.Cell, n*m)}
	parent := ctx
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	t := earlyVote{cells: d.Cells, rounds: m, order: order, lastOnly: c.VoteScope == ScopeLast, done: make([]bool, n*m), votes: map[string]int{}}
	spoken := make([]chan struct{}, n*m)
	for i := range spoken {
		spoken[i] = make(chan struct{})
	}
	var wg sync.WaitGroup
	for a := range n {
		view := v
		view.Hidden = dropout(c.ViewDropout, v.Observation, seed, a)
		wg.Go(func() {
			for j := range m {
				if err := speak(ctx, model, c, view, seed, a, j, d.Cells, spoken); err != nil {
					cancel(err)
					return
				}
				close(spoken[a*m+j])
				if c.Early && t.certain(a, j) {
					cancel(errCertain)
					return
				}
			}
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil && (!errors.Is(err, errCertain) || parent.Err() != nil) {
		return domain.Decision{}, err
	}
	t.clear()
	d.AllRound, d.LastOnly = Count(d.Cells, m, order, false), Count(d.Cells, m, order, true)
	win := d.AllRound
	if c.VoteScope == ScopeLast {
		win = d.LastOnly
	}
	d.Executed = executed(d.Cells, win.Canonical)
	return d, nil
}

// errCertain ends a decision whose winner is certain.
var errCertain = errors.New("the remaining cells cannot change the vote")

// earlyVote follows a vote in the order of rounds and, within a round, of speakers.
type earlyVote struct {
	mu       sync.Mutex
	cells    []domain.Cell
	rounds   int
	order    []int
	lastOnly bool
	done     []bool
	next     int // position of the first cell that is not counted yet
	votes    map[string]int
	over     bool
}

// certain notes a cell as spoken, counts on while there is no gap, and tells whether the winner is certain: ahead of the second by more than there are
// cells to come, so that no tie rule is needed.
func (t *earlyVote) certain(agent, round int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.done[agent*t.rounds+round] = true
	for !t.over && t.next < len(t.cells) && t.done[t.at(t.next)] {
		c := t.cells[t.at(t.next)]
		if c.Action != nil && (!t.lastOnly || c.Round == t.rounds-1) {
			t.votes[c.Canonical]++
		}
		t.next++
		first, second := 0, 0
		for _, v := range t.votes {
			if v > first {
				first, second = v, first
			} else {
				second = max(second, v)
			}
		}
		t.over = first > second+min(len(t.cells)-t.next, t.voters())
	}
	return t.over
}

// at is the cell at a position of the counting order.
func (t *earlyVote) at(pos int) int { return t.order[pos%len(t.order)]*t.rounds + pos/len(t.order) }

// voters is the number of cells that may vote at all.
func (t *earlyVote) voters() int {
	if t.lastOnly {
		return len(t.order)
	}
	return len(t.cells)
}

// clear empties what was spoken beyond the point of certainty.
func (t *earlyVote) clear() {
	for pos := t.next; t.over && pos < len(t.cells); pos++ {
		t.cells[t.at(pos)] = domain.Cell{}
	}
}

func speak(ctx context.Context, model chat.Model, c Config, v View, seed uint64, a, j int, cells []domain.Cell, spoken []chan struct{}) error {
	m := c.Rounds
	var peers []Message
	for _, p := range c.Topology.Preds(a) {
		select {
		case <-spoken[p*m+j]:
			peers = append(peers, Message{p, c.message(cells[p*m+j])})
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	own := ""
	if j > 0 {
		own = cells[a*m+j-1].Text
	}
	t := c.Template
	if t == nil {
		t = Default
	}
	user, err := t.User(v, own, peers)
	if err != nil {
		return err
	}
	r, err := model.Complete(ctx, chat.Request{Model: c.Policies[a], System: t.System(), User: user, Temperature: c.Temperature[a], TopP: c.TopP, MaxTokens: c.MaxTokens,
		Seed: domain.Seed(seed, "cell", a, j), N: 1})
	if err != nil {
		return fmt.Errorf("agent %d, round %d: %w", a, j, err)
	}
	cells[a*m+j] = NewCell(a, j, r.Texts[0], user, v.Observation)
	cells[a*m+j].Usage = r.Usage
	if len(r.Reasoning) > 0 {
		cells[a*m+j].Thought = r.Reasoning[0]
	}
	if len(r.LogProbs) > 0 {
		cells[a*m+j].LogProb = r.LogProbs[0]
	}
	return nil
}

// message is what peers read of a cell: its text; what was thought before it only where that is asked for.
func (c Config) message(cell domain.Cell) string {
	if c.Thoughts && cell.Thought != "" {
		return "Thought: " + Line(cell.Thought, maxMessage/2) + " " + cell.Text
	}
	return cell.Text
}

// NewCell parses a text into a cell.
func NewCell(agent, round int, text, prompt string, o domain.Observation) domain.Cell {
	cell := domain.Cell{Agent: agent, Round: round, Text: text, Prompt: prompt}
	act, err := ParseAnswer(text)
	if err != nil {
		cell.ParseError = err.Error()
		return cell
	}
	cell.Action, cell.Canonical = &act, act.Canonical(o)
	return cell
}

func dropout(share float64, o domain.Observation, seed uint64, agent int) map[int]bool {
	if share <= 0 {
		return nil
	}
	r, hidden := domain.Rand(seed, "view", agent), map[int]bool{}
	for _, e := range o.Elements {
		if r.Float64() < share {
			hidden[e.Index] = true
		}
	}
	return hidden
}

func executed(cells []domain.Cell, canonical string) domain.Action {
	for _, c := range cells {
		if c.Action != nil && c.Canonical == canonical {
			return *c.Action
		}
	}
	return domain.Action{Type: domain.ActionNone}
}
