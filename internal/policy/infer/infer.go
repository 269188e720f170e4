// Package infer uses what a run has trained: it finds a system in the store and lets it decide, for a request, behind the OpenAI chat API, or step by step in an
// environment. It also writes a system as files for use elsewhere. Nothing is recorded. It knows the store's records, environments and activities' rules.
//
// It imports domain, envadapters, fault, internal/method/agents, internal/method/chat, internal/method/episode,
// internal/method/prompts, internal/method/rules, internal/method/spec, internal/policy/serving,
// internal/policy/tinylm, internal/store and internal/store/runs.
package infer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/rules"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
)

// Which system of a run is meant, beside an epoch's number.
const (
	Best = "best" // on val; known when the run has ended
	Base = "base" // the base policy n times
)

// ErrNoBase says that a run has no policy yet.
var ErrNoBase = errors.New("stage 1 has not ended, so there is no policy yet")

// System is a system of a run as it stands in the store.
type System struct {
	Run      string
	Spec     spec.Spec
	Epoch    int // that made it; 0 is the base policy n times
	Policies []runs.Policy
	Reports  []*domain.TrainReport // of training programs, by agent; nil where there is none
	Topology *domain.Topology      // on which the epoch trained it; nil for the base
}

// Find reads the system that which names: Best, Base, an epoch's number (0 is the base), or empty for the best of a run that has ended and else the newest. What is not there
// is not found, or invalid with the choice that there is; the error of a run without a policy wraps ErrNoBase. It may be repeated.
func Find(ctx context.Context, b store.Bucket, run, which string) (System, error) {
	s := System{Run: run}
	var err error
	if s.Spec, _, err = runs.Run(run).Spec().Read(ctx, b); err != nil {
		return s, fmt.Errorf("run %q: %w", run, err)
	}
	base, _, err := runs.Run(run).Base().Read(ctx, b)
	if errors.Is(err, store.ErrNotFound) {
		return s, fault.New(fault.Invalid, "run %q: %w", run, ErrNoBase)
	}
	if err != nil {
		return s, err
	}
	if s.Epoch, err = s.choose(ctx, b, which); err != nil {
		return s, err
	}
	if s.Epoch == 0 {
		s.Policies = slices.Repeat([]runs.Policy{base.Policy}, s.Spec.Agents)
		return s, nil
	}
	e, _, err := runs.Run(run).Epoch(s.Epoch).Read(ctx, b)
	if errors.Is(err, store.ErrNotFound) {
		newest, err := s.newest(ctx, b)
		return s, errors.Join(err, fault.New(fault.Invalid, "run %q has committed %d epochs, so there is no epoch %d: name one from 1, %s, or none", run, newest, s.Epoch, Base))
	}
	if err != nil {
		return s, err
	}
	s.Policies, s.Reports = e.System.Policies, make([]*domain.TrainReport, len(e.Updates))
	for i, ref := range e.Updates {
		u, _, err := store.Read[runs.Update](ctx, b, ref.Key)
		if err != nil {
			return s, err
		}
		s.Reports[i] = u.Report
	}
	topo, _, err := runs.Run(run).Topology(s.Epoch).Read(ctx, b)
	s.Topology = &topo
	return s, err
}

// choose gives the epoch that is meant.
func (s System) choose(ctx context.Context, b store.Bucket, which string) (int, error) {
	switch which {
	case Base:
		return 0, nil
	case Best, "":
		end, _, err := runs.Run(s.Run).End().Read(ctx, b)
		if !errors.Is(err, store.ErrNotFound) {
			return end.Best, err
		}
		if which == "" {
			return s.newest(ctx, b)
		}
		return 0, fault.New(fault.Invalid, "run %q has not ended, so its best epoch is not known: name an epoch, %s, or none for the newest", s.Run, Base)
	}
	k, err := strconv.Atoi(which)
	if err != nil || k < 0 {
		return 0, fault.New(fault.Invalid, "epoch %q: expected a number from 0, %s or %s", which, Best, Base)
	}
	return k, nil
}

// newest is the number of committed epochs.
func (s System) newest(ctx context.Context, b store.Bucket) (int, error) {
	for k := 1; ; k++ {
		_, err := b.Get(ctx, runs.Run(s.Run).Epoch(k).Key)
		if errors.Is(err, store.ErrNotFound) {
			return k - 1, nil
		}
		if err != nil {
			return 0, err
		}
	}
}

// Name says which system it is.
func (s System) Name() string {
	if s.Epoch == 0 {
		return s.Run + ", base policy"
	}
	return fmt.Sprintf("%s, epoch %d", s.Run, s.Epoch)
}

// Digests lists the policies' names, by agent.
func (s System) Digests() []string { return runs.System{Policies: s.Policies}.Digests() }

// Load publishes the policies, each once, by what a policy server's client offers, to as many servers as the run asks for. It may be repeated.
func (s System) Load(ctx context.Context, load func(ctx context.Context, policy string, quorum int) error) error {
	for _, d := range slices.Compact(slices.Sorted(slices.Values(s.Digests()))) {
		if err := load(ctx, d, s.Spec.Serving.Quorum); err != nil {
			return err
		}
	}
	return nil
}

// Config is how the system decides: as evaluation does, that is with the evaluation's temperatures and on one of its fixed topologies in turn (never on the epoch's own),
// and without asking for what can no longer change the vote.
func (s System) Config(turn uint64) (agents.Config, error) {
	c, _, err := s.evaluated().Config(s.Spec, domain.SplitVal, turn)

	return c, err
}

// evaluated is the system as evaluation plays it.
func (s System) evaluated() rules.EvalSystem { return rules.Together(s.Spec, s.Name(), s.Digests()) }

// Options of one decision.
type Options struct {
	Seed        uint64   // of the calls; modulo their number it also picks the evaluation's topology
	Temperature *float64 // of all agents; nil: their own
	TopP        *float64 // of all agents; nil: the run's
	MaxTokens   int      // of one cell's answer, where it is less than the run's; 0: the run's
	Whole       bool     // ask every cell, also those that can no longer change the vote
}

// Decided is a decision and what it was made with.
type Decided struct {
	Decision domain.Decision `json:"decision"`
	Votes    []domain.Vote   `json:"votes"`  // of every action that has any in the run's scope, most first; the first one wins
	Rounds   int             `json:"rounds"` // of the matrix
	Topology domain.Topology `json:"topology"`
	Policies []string        `json:"policies"` // digests, by agent
	Epoch    int             `json:"epoch"`    // 0: base
	Text     string          `json:"-"`        // the winner's words: of the cell that said it first; empty where no answer parses
	Usage    domain.Usage    `json:"-"`        // of all cells
}

// Decide lets the system decide once. With the same seed, view and policies the winner and its words are the same, whole or not. Errors are those of the model's server;
// a call may be repeated.
func (s System) Decide(ctx context.Context, model chat.Model, v agents.View, o Options) (Decided, error) {
	c, err := s.Config(o.Seed)
	if err != nil {
		return Decided{}, err
	}
	if o.Temperature != nil {
		c.Temperature = slices.Repeat([]float64{*o.Temperature}, s.Spec.Agents)
	}
	if o.TopP != nil {
		c.TopP = *o.TopP
	}
	if o.MaxTokens > 0 {
		c.MaxTokens = min(c.MaxTokens, o.MaxTokens)
	}
	c.Early = !o.Whole
	d, err := agents.Decide(ctx, model, c, v, o.Seed)
	if err != nil {
		return Decided{}, err
	}
	out := Decided{Decision: d, Rounds: c.Rounds, Topology: c.Topology, Policies: c.Policies, Epoch: s.Epoch, Votes: votes(d, c)}
	order, err := c.Topology.Order()
	for at := len(d.Cells) - 1; at >= 0; at-- {
		cell := d.Cells[order[at%len(order)]*c.Rounds+at/len(order)]
		out.Usage = out.Usage.Plus(cell.Usage)
		if cell.Action != nil && cell.Canonical == winner(d, c.VoteScope).Canonical {
			out.Text = cell.Text
		}
	}
	return out, err
}

// winner is the vote that counts.
func winner(d domain.Decision, scope agents.VoteScope) domain.Vote { return scope.Winner(d) }

// votes counts all actions of a decision: the winner first.
func votes(d domain.Decision, c agents.Config) []domain.Vote {
	n := map[string]int{}
	for _, cell := range d.Cells {
		if cell.Action != nil && (c.VoteScope != agents.ScopeLast || cell.Round == c.Rounds-1) {
			n[cell.Canonical]++
		}
	}
	out := []domain.Vote{}
	for k, v := range n {
		out = append(out, domain.Vote{Canonical: k, Votes: v})
	}
	win := winner(d, c.VoteScope)
	behind := func(v domain.Vote) int {
		if v.Canonical == win.Canonical {
			return 0
		}
		return 1
	}
	slices.SortFunc(out, func(a, b domain.Vote) int {
		return cmp.Or(behind(a)-behind(b), b.Votes-a.Votes, strings.Compare(a.Canonical, b.Canonical))
	})
	if len(out) > 0 {
		out[0].Rule = win.Rule
	}
	return out
}
