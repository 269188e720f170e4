package system

import (
	"context"
	"fmt"
	"sync"

	"github.com/collabui/collabui/domain"
)

// Request is one chat completion as the system needs it.
type Request struct {
	Model       string // a policy digest or an endpoint's model name
	System      string
	User        string
	Temperature float64
	TopP        float64
	MaxTokens   int
	Seed        uint64
	N           int
}

// Response holds the N answers.
type Response struct {
	Texts    []string
	LogProbs []float64 // per answer, summed over its tokens; nil where the server gives none
	Usage    domain.Usage
}

//go:generate go tool mockgen -destination=mock_system/chat.go -source=decide.go Chat

// Chat is a language model endpoint. A call may be repeated.
type Chat interface {
	Complete(ctx context.Context, r Request) (Response, error)
}

// Config says how a system decides.
type Config struct {
	Policies    []string        `json:"policies"` // one per agent
	Topology    domain.Topology `json:"topology"`
	Rounds      int             `json:"rounds"`
	Temperature []float64       `json:"temperature"` // per agent
	TopP        float64         `json:"top_p"`
	MaxTokens   int             `json:"max_tokens"`
	VoteScope   string          `json:"vote_scope"`   // ScopeAll or ScopeLast
	ViewDropout float64         `json:"view_dropout"` // share of elements that each agent misses
}

// Vote scopes.
const (
	ScopeAll  = "all_rounds"
	ScopeLast = "last_round"
)

// Decide runs all agents for all rounds and votes. seed is that of the step; every call's seed is derived from it, the agent and the round. A cell
// waits only for what it reads (its own previous round, its predecessors' same round), so independent agents speak at the same time.
func Decide(ctx context.Context, chat Chat, c Config, v View, seed uint64) (domain.Decision, error) {
	order, err := c.Topology.Order()
	if err != nil {
		return domain.Decision{}, err
	}
	n, m := len(c.Policies), c.Rounds
	d := domain.Decision{Cells: make([]domain.Cell, n*m)}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
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
				if err := speak(ctx, chat, c, view, seed, a, j, d.Cells, spoken); err != nil {
					cancel(err)
					return
				}
				close(spoken[a*m+j])
			}
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return domain.Decision{}, err
	}
	d.AllRound, d.LastOnly = Count(d.Cells, m, order, false), Count(d.Cells, m, order, true)
	win := d.AllRound
	if c.VoteScope == ScopeLast {
		win = d.LastOnly
	}
	d.Executed = executed(d.Cells, win.Canonical)
	return d, nil
}

func speak(ctx context.Context, chat Chat, c Config, v View, seed uint64, a, j int, cells []domain.Cell, spoken []chan struct{}) error {
	m := c.Rounds
	var peers []Message
	for _, p := range c.Topology.Preds(a) {
		select {
		case <-spoken[p*m+j]:
			peers = append(peers, Message{p, cells[p*m+j].Text})
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	own := ""
	if j > 0 {
		own = cells[a*m+j-1].Text
	}
	user := Prompt(v, own, peers)
	r, err := chat.Complete(ctx, Request{Model: c.Policies[a], System: SystemPrompt, User: user, Temperature: c.Temperature[a], TopP: c.TopP, MaxTokens: c.MaxTokens,
		Seed: domain.Seed(seed, "cell", a, j), N: 1})
	if err != nil {
		return fmt.Errorf("agent %d, round %d: %w", a, j, err)
	}
	cells[a*m+j] = NewCell(a, j, r.Texts[0], user, v.Observation)
	cells[a*m+j].Usage = r.Usage
	if len(r.LogProbs) > 0 {
		cells[a*m+j].LogProb = r.LogProbs[0]
	}
	return nil
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
