// Package infer uses the systems that a run has trained. It finds a system in the store and serves its decisions over
// the OpenAI chat API. It also writes a system as files for use elsewhere. It records nothing.
package infer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/policy/tinylm"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// Names of systems of a run, in addition to the numbers of epochs.
const (
	Best = "best" // the best system on val, known after the run has ended
	Base = "base" // the system of the base policy
)

// ErrNoBase means that a run does not have a policy yet.
var ErrNoBase = errors.New("stage 1 has not ended, so there is no policy yet")

// TrainedSystem is a system of a run in the store.
type TrainedSystem struct {
	Run      string
	Spec     spec.Spec
	Epoch    int // the epoch that made it; 0 is the system of the base policy
	Policies []runs.Policy
	Reports  []*domain.TrainReport // reports of training programs by agent; nil without a report
	Topology *domain.Topology      // the graph on which the epoch was trained; nil for the base

	Line string // the line that has accepted it, if it was found through a line
}

// Model returns the model name of the system for clients, which is the name of its line or else of its run.
func (s TrainedSystem) Model() string { return cmp.Or(s.Line, s.Run) }

// Find returns the system of run name that which selects: Best, Base, an epoch's number (0 is the base), or "" for the
// best system of a run that has ended and otherwise the newest. The error of a missing run wraps store.ErrNotFound. A
// missing epoch is an invalid fault that lists the existing ones. The error of a run without a policy wraps ErrNoBase.
// Find may be repeated.
func Find(ctx context.Context, bucket store.Bucket, name, which string) (TrainedSystem, error) {
	run := runs.Run(name)
	system := TrainedSystem{Run: name}
	var err error
	if system.Spec, err = run.Find(ctx, bucket); err != nil {
		return system, err
	}
	exists, err := run.Base().Exists(ctx, bucket)
	if err != nil {
		return system, err
	}
	if !exists {
		return system, fault.New(fault.Invalid, "run %q: %w", name, ErrNoBase)
	}
	if system.Epoch, err = system.choose(ctx, bucket, which); err != nil {
		return system, err
	}
	if system.Spec, err = run.At(ctx, bucket, system.Epoch); err != nil {
		return system, err
	}

	if system.Epoch == 0 {
		base, err := run.System(ctx, bucket, 0, system.Spec.Agents)
		system.Policies = base.Policies

		return system, err
	}

	return system, system.readEpoch(ctx, bucket)
}

// readEpoch reads the system that the chosen epoch committed.
func (s *TrainedSystem) readEpoch(ctx context.Context, bucket store.Bucket) error {
	run := runs.Run(s.Run)
	epoch, committed, err := run.Epoch(s.Epoch).Sure(ctx, bucket)
	if err != nil {
		return err
	}
	if !committed {
		newest, err := run.Committed(ctx, bucket)
		if err != nil {
			return err
		}

		return fault.New(fault.Invalid,
			"run %q has committed %d epochs, so there is no epoch %d: name one from 1, %s, or none",
			s.Run, newest, s.Epoch, Base)
	}

	s.Policies = epoch.System.Policies
	s.Reports = make([]*domain.TrainReport, len(epoch.Updates))
	for i, ref := range epoch.Updates {
		update, _, err := store.Must[runs.Update](ctx, bucket, ref.Key)
		if err != nil {
			return err
		}
		s.Reports[i] = update.Report
	}
	topology, _, err := run.Topology(s.Epoch).Must(ctx, bucket)
	s.Topology = &topology

	return err
}

// choose returns the number of the epoch that which selects.
func (s TrainedSystem) choose(ctx context.Context, bucket store.Bucket, which string) (int, error) {
	switch which {
	case Base:
		return 0, nil
	case "":
		return runs.Run(s.Run).Chosen(ctx, bucket)
	case Best:
		end, ended, err := runs.Run(s.Run).End().Sure(ctx, bucket)
		if err != nil || ended {
			return end.Best, err
		}
		return 0, fault.New(fault.Invalid,
			"run %q has not ended, so its best epoch is not known: name an epoch, %s, or none for the newest",
			s.Run, Base)
	}

	k, err := strconv.Atoi(which)
	if err != nil || k < 0 {
		return 0, fault.New(fault.Invalid, "epoch %q: expected a number from 0, %s or %s", which, Best, Base)
	}

	return k, nil
}

// Name returns the system's name for people.
func (s TrainedSystem) Name() string {
	if s.Epoch == 0 {
		return s.Run + ", base policy"
	}

	return fmt.Sprintf("%s, epoch %d", s.Run, s.Epoch)
}

// Digests returns the digests of the policies, by agent.
func (s TrainedSystem) Digests() []string { return runs.System{Policies: s.Policies}.Digests() }

// Load publishes each of the policies once, to the number of servers that the run specifies as quorum. load is a method
// of a policy server's client. Load may be repeated.
func (s TrainedSystem) Load(
	ctx context.Context, load func(ctx context.Context, policy string, quorum int) error,
) error {
	for _, d := range slices.Compact(slices.Sorted(slices.Values(s.Digests()))) {
		if err := load(ctx, d, s.Spec.Serving.Quorum); err != nil {
			return err
		}
	}

	return nil
}

// Config returns how the system decides. It decides as in evaluation: on one of the fixed evaluation topologies, drawn
// for the turn, never on the epoch's own, and it skips cells that can no longer change the vote.
func (s TrainedSystem) Config(turn uint64) (agents.Config, error) {
	evaluated := rules.AllAgents(s.Spec, s.Name(), s.Digests())
	config, _, err := evaluated.Config(s.Spec, domain.SplitVal, turn)
	config.Template = rules.Bound(s.Spec, config.Template, tinylm.Over)

	return config, err
}

// Options configures one decision.
type Options struct {
	Seed        uint64   // seed of the calls; also the number of the episode whose evaluation topology is used
	Temperature *float64 // of all agents; nil means their own temperatures
	TopP        *float64 // of all agents; nil means the run's
	MaxTokens   int      // maximum per answer, if below the run's; 0 means the run's
	Whole       bool     // fill all cells, including those that can no longer change the vote
}

// Decided is a decision with its votes and the system that made it.
type Decided struct {
	Decision domain.Decision `json:"decision"`
	Votes    []domain.Vote   `json:"votes"`  // of every action with votes in the run's scope, the winner first
	Rounds   int             `json:"rounds"` // number of rounds of the matrix
	Topology domain.Topology `json:"topology"`
	Policies []string        `json:"policies"` // digests, by agent
	Epoch    int             `json:"epoch"`    // 0 means base
	Text     string          `json:"-"`        // text of the first cell with the winner; "" if no answer parses
	Usage    []domain.Usage  `json:"-"`        // tokens of all cells of an agent, by agent
}

// Decide makes one decision. With the same seed, view and policies, the winner and its text are the same, whether or
// not Whole is set. Errors are errors of the model's server. Decide may be repeated.
func (s TrainedSystem) Decide(
	ctx context.Context, model chat.Model, view agents.View, options Options,
) (Decided, error) {
	c, err := s.Config(options.Seed)
	if err != nil {
		return Decided{}, err
	}
	if options.Temperature != nil {
		c.Temperature = slices.Repeat([]float64{*options.Temperature}, s.Spec.Agents)
	}
	if options.TopP != nil {
		c.TopP = *options.TopP
	}
	if options.MaxTokens > 0 {
		c.MaxTokens = min(c.MaxTokens, options.MaxTokens)
	}
	c.Early = !options.Whole

	if view, err = s.draw(view, c); err != nil {
		return Decided{}, err
	}
	d, err := agents.Decide(ctx, model, c, view, options.Seed)
	if err != nil {
		return Decided{}, err
	}

	out := Decided{
		Decision: d, Votes: votes(d, c), Rounds: c.Rounds, Topology: c.Topology, Policies: c.Policies, Epoch: s.Epoch,
		Usage: make([]domain.Usage, s.Spec.Agents),
	}
	order, err := c.Topology.Order()
	winner := c.VoteScope.Winner(d).Canonical
	for at := len(d.Cells) - 1; at >= 0; at-- {
		cell := d.Cell(order[at%len(order)], at/len(order), c.Rounds)
		out.Usage[cell.Agent] = out.Usage[cell.Agent].Plus(cell.Usage)
		if cell.Votes() && cell.Canonical == winner {
			out.Text = cell.Text
		}
	}

	return out, err
}

// votes counts the votes of all actions in a decision. The winner comes first, then the actions with the most votes.
func votes(decision domain.Decision, config agents.Config) []domain.Vote {
	n := map[string]int{}
	for _, cell := range decision.Cells {
		if cell.Votes() && (config.VoteScope != agents.ScopeLast || cell.Round == config.Rounds-1) {
			n[cell.Canonical]++
		}
	}
	out := []domain.Vote{}
	for key, v := range n {
		out = append(out, domain.Vote{Canonical: key, Votes: v})
	}

	win := config.VoteScope.Winner(decision)
	loses := func(vote domain.Vote) int {
		if vote.Canonical == win.Canonical {
			return 0
		}

		return 1
	}
	slices.SortFunc(out, func(a, b domain.Vote) int {
		return cmp.Or(loses(a)-loses(b), b.Votes-a.Votes, strings.Compare(a.Canonical, b.Canonical))
	})
	if len(out) > 0 {
		out[0].Rule = win.Rule
	}

	return out
}
