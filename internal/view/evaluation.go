package view

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
)

// evalRow is a line about an evaluated episode.
type evalRow struct {
	N         int    `json:"n"`
	Template  string `json:"template"`
	Suite     string `json:"suite,omitempty"`
	Split     string `json:"split"`
	Seed      string `json:"seed"` // of the task, as text: a script's numbers could not hold it
	Goal      string `json:"goal,omitempty"`
	Success   bool   `json:"success"`
	Steps     int    `json:"steps"`
	Truncated bool   `json:"truncated,omitempty"`
	Void      string `json:"void,omitempty"`
	Tokens    int    `json:"tokens,omitempty"`
}

// evalEpisodes reads evaluated episodes, as many as the result includes.
func (l *Library) evalEpisodes(ctx context.Context, run runs.Run, id string, first, n int) ([]runs.EvalEpisode, error) {
	out := make([]runs.EvalEpisode, n)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for i := range out {
		g.Go(func() (err error) {
			out[i], _, err = run.EvalEpisode(id, first+i).Must(ctx, l.Bucket)

			return err
		})
	}

	return out, g.Wait()
}

// result returns the result of an evaluation that an address names.
func (l *Library) result(ctx context.Context, run runs.Run, id string) (runs.Result, error) {
	r, there, err := run.Result(id).May(ctx, l.Bucket)
	if err == nil && !there {
		err = fmt.Errorf("run %s has no result of %s: %w", run, id, store.ErrNotFound)
	}

	return r, err
}

func (l *Library) evalRows(ctx context.Context, run runs.Run, id string) ([]evalRow, error) {
	r, err := l.result(ctx, run, id)
	if err != nil {
		return nil, err
	}
	all, err := l.evalEpisodes(ctx, run, id, 1, r.Episodes+r.Missing)
	out := []evalRow{}
	for i, e := range all {
		cost := e.Cost()
		out = append(out, evalRow{
			N: i + 1, Template: e.Task.Template, Suite: e.Task.Suite, Split: e.Task.Split,
			Seed: strconv.FormatUint(e.Task.Seed, 10), Goal: e.Goal, Success: e.Outcome.Success, Steps: e.Outcome.Steps,
			Truncated: e.Outcome.Truncated, Void: e.Outcome.Void, Tokens: cost.Prompt + cost.Answer,
		})
	}

	return out, err
}

// playedBy returns the specification with which evaluated episodes were played: the epoch's, or that at the run's end.
func (l *Library) playedBy(ctx context.Context, run runs.Run, id string) (spec.Spec, error) {
	folder, _, _ := strings.Cut(id, "/")
	if epoch, ok := rules.EpochOf(folder); ok {
		return run.At(ctx, l.Bucket, epoch)
	}

	return run.Current(ctx, l.Bucket)
}

// evaluations returns the details of the evaluated episodes of a chunk, by number.
func (l *Library) evaluations(ctx context.Context, run runs.Run, id string, first int) (map[int]detail, error) {
	s, err := l.playedBy(ctx, run, id)
	if err != nil {
		return nil, err
	}
	r, err := l.result(ctx, run, id)
	if err != nil {
		return nil, err
	}
	n := min(l.Chunk, r.Episodes+r.Missing-first+1)
	if first < 1 || n < 1 {
		return nil, fmt.Errorf("%s of run %s has no episode %d: %w", id, run, first, store.ErrNotFound)
	}
	all, err := l.evalEpisodes(ctx, run, id, first, n)
	out := map[int]detail{}
	for i, e := range all {
		out[first+i] = evaluated(e, first+i, r, s.VoteScope)
	}

	return out, err
}

// evaluated returns an evaluated episode as its page shows it. Fields that the records do not have are empty: prompts,
// and the screens of environments that show none.
func evaluated(e runs.EvalEpisode, n int, r runs.Result, scope agents.VoteScope) detail {
	d := detail{
		Slot: n, Template: e.Task.Template, Split: e.Task.Split, Seed: strconv.FormatUint(e.Task.Seed, 10),
		MaxSteps: e.Task.MaxSteps, Goal: e.Goal, State: stateNot, Failed: e.Outcome.Void, Outcome: e.Outcome,
		Agents: 1, Rounds: 1, Scope: scope, Steps: []detailStep{}, Edges: [][2]int{},
	}
	switch {
	case e.Outcome.Void != "":
		d.State = stateFailed
	case e.Outcome.Success:
		d.State = stateSolved
	}
	for _, s := range e.Steps {
		for _, c := range s.Cells {
			d.Agents = max(d.Agents, c.Agent+1)
			d.Rounds = max(d.Rounds, c.Round+1)
		}
	}
	if graphs := domain.EvaluationTopologies(d.Agents); !strings.Contains(r.System, rules.WaySilent) && d.Agents > 1 {
		d.Edges = graphs[e.Topology%len(graphs)].Edges
	}
	for _, s := range e.Steps {
		d.Steps = append(d.Steps, evaluatedStep(s, scope))
	}
	d.End = endOf(e.End)
	d.touches()

	return d
}

func evaluatedStep(s runs.EvalStep, scope agents.VoteScope) detailStep {
	vote := scope.Winner(domain.Decision{AllRound: s.AllRounds, LastOnly: s.LastRound})
	d := detailStep{Vote: vote, Cells: []detailCell{}}
	if s.Observation != nil {
		d.detailScreen = screenOf(*s.Observation, s.Image, s.Touch)
	}
	for _, c := range s.Cells {
		cell := detailCell{Cell: domain.Cell{
			Agent: c.Agent, Round: c.Round, Text: c.Text, Canonical: c.Canonical, Usage: c.Usage, Calls: c.Calls,
		}}
		if a, err := agents.ParseAnswer(c.Text); err == nil && c.Canonical != "" {
			x := actionOf(a, d.Screen)
			if x.Canonical = c.Canonical; s.Observation == nil {
				x.Words = c.Canonical // the element is not recorded
			}
			if cell.Action = &x; c.Canonical == vote.Canonical {
				d.Action = x
			}
		}
		if len(s.Right) > 0 {
			label := domain.Negative
			if slices.Contains(s.Right, c.Canonical) {
				label = domain.Positive
			}
			cell.Judge = &label
		}
		d.Cells = append(d.Cells, cell)
	}
	for _, right := range s.Right {
		d.Right = append(d.Right, detailAction{Words: right, Canonical: right})
	}

	return d
}
