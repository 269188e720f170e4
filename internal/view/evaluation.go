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
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
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
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for i := range out {
		group.Go(func() (err error) {
			out[i], _, err = run.EvalEpisode(id, first+i).Must(ctx, l.Bucket)

			return err
		})
	}

	return out, group.Wait()
}

// result returns the result of an evaluation that an address names.
func (l *Library) result(ctx context.Context, run runs.Run, id string) (runs.Result, error) {
	r, exists, err := run.Result(id).May(ctx, l.Bucket)
	if err == nil && !exists {
		err = fmt.Errorf("run %s has no result of %s: %w", run, id, store.ErrNotFound)
	}

	return r, err
}

// evalAll reads all episodes of an evaluation.
func (l *Library) evalAll(ctx context.Context, run runs.Run, id string) ([]runs.EvalEpisode, error) {
	result, err := l.result(ctx, run, id)
	if err != nil {
		return nil, err
	}

	return l.evalEpisodes(ctx, run, id, 1, result.Episodes+result.Missing)
}

// evalRows returns a line about every evaluated episode.
func evalRows(all []runs.EvalEpisode) []evalRow {
	out := []evalRow{}
	for i, e := range all {
		cost := e.Cost()
		out = append(out, evalRow{
			N: i + 1, Template: e.Task.Template, Suite: e.Task.Suite, Split: e.Task.Split,
			Seed: strconv.FormatUint(e.Task.Seed, 10), Goal: e.Goal, Success: e.Outcome.Success, Steps: e.Outcome.Steps,
			Truncated: e.Outcome.Truncated, Void: e.Outcome.Void, Tokens: cost.Prompt + cost.Answer,
		})
	}

	return out
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
	specification, err := l.playedBy(ctx, run, id)
	if err != nil {
		return nil, err
	}
	result, err := l.result(ctx, run, id)
	if err != nil {
		return nil, err
	}
	n := min(l.Chunk, result.Episodes+result.Missing-first+1)
	if first < 1 || n < 1 {
		return nil, fmt.Errorf("%s of run %s has no episode %d: %w", id, run, first, store.ErrNotFound)
	}
	all, err := l.evalEpisodes(ctx, run, id, first, n)
	out := map[int]detail{}
	for i, evalEpisode := range all {
		d := evaluated(evalEpisode, first+i, result, specification.VoteScope)
		d.ReadsBack = specification.Reads == agents.ReadBack && d.Rounds > 1
		out[first+i] = d
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
	for _, evalStep := range e.Steps {
		for _, evalCell := range evalStep.Cells {
			d.Agents = max(d.Agents, evalCell.Agent+1)
			d.Rounds = max(d.Rounds, evalCell.Round+1)
		}
	}
	if graphs := domain.EvaluationTopologies(d.Agents); !strings.Contains(r.System, rules.WaySilent) && d.Agents > 1 {
		d.Edges = graphs[e.Topology%len(graphs)].Edges
	}
	for _, step := range e.Steps {
		d.Steps = append(d.Steps, evaluatedStep(step, scope))
	}
	d.End = endOf(e.End)
	d.touches()

	return d
}

func evaluatedStep(evalStep runs.EvalStep, scope agents.VoteScope) detailStep {
	vote := scope.Winner(domain.Decision{AllRound: evalStep.AllRounds, LastOnly: evalStep.LastRound})
	step := detailStep{Vote: vote, Cells: []detailCell{}, Seen: evalStep.Seen, Divided: evalStep.Seen != nil}
	if evalStep.Observation != nil {
		step.detailScreen = screenOf(*evalStep.Observation, evalStep.Image, evalStep.Touch)
	}
	spoke := false
	for _, c := range evalStep.Cells {
		cell := detailCell{Cell: domain.Cell{
			Agent: c.Agent, Round: c.Round, Text: c.Text, Canonical: c.Canonical, Usage: c.Usage, Calls: c.Calls,
			Told: c.Told, Image: c.Image,
		}}
		read := agents.Reader{Speech: true}.Cell(c.Agent, c.Round, c.Text, "", step.Screen)
		if read.Action != nil && c.Canonical != "" {
			spoke = spoke || read.Action.Speech()
			x := actionOf(*read.Action, step.Screen)
			x.Canonical = c.Canonical
			if evalStep.Observation == nil {
				x.Words = c.Canonical // the element is not recorded
			}
			cell.Action = &x
			if c.Canonical == vote.Canonical {
				step.Action = x
			}
		}
		if len(evalStep.Right) > 0 {
			label := domain.Negative
			if slices.Contains(evalStep.Right, c.Canonical) {
				label = domain.Positive
			}
			cell.Judge = &label
		}
		step.Cells = append(step.Cells, cell)
	}
	if spoke && vote.Canonical == "" {
		step.Silent = true
		step.Action = nobodyActed
	}
	for _, right := range evalStep.Right {
		step.Right = append(step.Right, detailAction{Words: right, Canonical: right})
	}

	return step
}
