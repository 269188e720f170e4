// Package evaluate has the activities that play evaluations, count them, and choose what the last evaluation of a run
// plays.
package evaluate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"go.temporal.io/sdk/activity"
	"golang.org/x/sync/errgroup"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/activities/play"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/episode"
	"github.com/collabui/collabui/internal/method/prompts"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/observe/events"
	"github.com/collabui/collabui/internal/policy/endpoints"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// BatchSize is the number of episodes per activity. They are played as places of the worker become free.
const BatchSize = 10

// Range is a part of an item.
type Range struct {
	Item rules.EvalItem
	From int
	To   int // exclusive
}

// Part counts the outcomes of a range.
type Part struct {
	Successes, Missing int
	Cost               runs.Cost // of the episodes that are not missing
	Cut                int       `json:",omitempty"` // cells whose prompts lack a part of the agent's view
	Refused            int       `json:",omitempty"` // cells whose prompts the model refused
	Repaired           int       `json:",omitempty"` // cells that were read although they do not follow the prompt

	Over bool `json:",omitempty"` // the item has a result already, here or where a fork comes from: nothing was played
}

// Plus returns the counts of both parts.
func (p Part) Plus(part Part) Part {
	return Part{
		Successes: p.Successes + part.Successes, Missing: p.Missing + part.Missing, Cost: p.Cost.Plus(part.Cost),
		Cut: p.Cut + part.Cut, Refused: p.Refused + part.Refused, Repaired: p.Repaired + part.Repaired,
		Over: p.Over || part.Over,
	}
}

// Evaluate plays a range of an evaluation's tasks. A fault repeats the same task, an outcome never does.
func (r *Rollouts) Evaluate(ctx context.Context, e Range) (Part, error) {
	item := e.Item
	log := r.Log.For(item.Run, "system", item.System.Name, "split", item.Split, "from", e.From, "to", e.To)
	if epoch, ok := rules.EpochOf(item.Folder); ok {
		ctx = endpoints.InEpoch(ctx, epoch)
	}

	return activities.Do(ctx, log, func(ctx context.Context, progress activities.Progress) (Part, error) {
		over, err := runs.Run(item.Run).Result(item.ID()).Exists(ctx, r.Bucket)
		if err != nil || over {
			return Part{Over: over}, err
		}
		out, err := r.evaluateRange(ctx, e, progress)
		if err != nil {
			return Part{}, err
		}
		r.Emit.Send(item.Run, events.Evaluation{
			Folder: item.Folder, System: item.System.Name, Split: item.Split,
			From: e.From, To: e.To, Successes: out.Successes,
		})

		return out, nil
	})
}

// evaluateRange plays a range, all of its episodes concurrently. An episode that fails does not end the others.
func (r *Rollouts) evaluateRange(ctx context.Context, e Range, progress activities.Progress) (Part, error) {
	item := e.Item
	specification, err := r.Runs.OfItem(ctx, item)
	if err != nil {
		return Part{}, err
	}
	suite, err := r.Suites.Get(ctx, item.Where(specification))
	if err != nil {
		return Part{}, err
	}
	given, err := r.givenTasks(ctx, item)
	if err != nil {
		return Part{}, err
	}
	writer, err := r.Runs.Writer(ctx, item.Run)
	if err != nil {
		return Part{}, err
	}

	playing := evaluating{
		Rollouts: r, item: item, spec: specification, suite: suite, given: given, progress: progress,
	}
	play := func(i int) (runs.EvalEpisode, error) {
		episode, err := playing.play(ctx, i)
		episode.By = writer.By

		return episode, err
	}
	parts := make([]Part, e.To-e.From)
	var open errgroup.Group
	for i := e.From; i < e.To; i++ {
		open.Go(func() error {
			recorded := runs.Run(item.Run).EvalEpisode(item.ID(), i+1)
			episode, _, err := recorded.Record(ctx, r.Bucket, func() (runs.EvalEpisode, error) { return play(i) })
			progress(fmt.Sprintf("%s on %s, episode %d has ended", item.System.Name, item.Split, i+1))
			parts[i-e.From] = partOf(episode)

			return writer.Check(recorded.Key, episode.By, err)
		})
	}
	if err := open.Wait(); err != nil {
		return Part{}, err
	}
	var out Part
	for _, part := range parts {
		out = out.Plus(part)
	}

	return out, nil
}

// givenTasks returns the tasks that an item names, or nil if it plays the tasks of its split.
func (r *Rollouts) givenTasks(ctx context.Context, item rules.EvalItem) ([]domain.Task, error) {
	if item.Tasks == "" {
		return nil, nil
	}
	raw, err := store.GetBlob(ctx, r.Bucket, item.Tasks)
	if err != nil {
		return nil, err
	}
	var tasks []domain.Task
	if err := json.Unmarshal(raw, &tasks); err != nil || len(tasks) != item.Episodes {
		return nil, fault.New(fault.Corrupt, "blob %s has %d tasks, want %d: %w",
			item.Tasks, len(tasks), item.Episodes, err)
	}

	return tasks, nil
}

// evaluating plays the tasks of an item.
type evaluating struct {
	*Rollouts
	item     rules.EvalItem
	spec     spec.Spec
	suite    envadapters.Suite
	given    []domain.Task // nil if the item plays the tasks of its split
	progress activities.Progress
}

// play plays task i. Any worker reads what was played, but only one with the epoch's versions plays.
func (e evaluating) play(ctx context.Context, i int) (runs.EvalEpisode, error) {
	if err := e.checkVersions(ctx); err != nil {
		return runs.EvalEpisode{}, err
	}
	task, err := e.task(i)
	if err != nil {
		return runs.EvalEpisode{}, err
	}

	return e.evaluate(ctx, task, i)
}

// task returns task i.
func (e evaluating) task(i int) (domain.Task, error) {
	if e.given != nil {
		return e.given[i], nil
	}

	return rules.EvalTask(e.spec, e.suite, e.item.Split, i)
}

// checkVersions refuses to evaluate an epoch with other versions than it began with. An evaluation in another
// environment may have another browser.
func (e evaluating) checkVersions(ctx context.Context) error {
	if _, ok := rules.EpochOf(e.item.Folder); !ok {
		return nil
	}
	suite := e.suite
	if e.item.Environment != "" {
		suite = nil
	}

	return e.Runs.CheckVersions(ctx, e.spec, activities.EpochOf(e.item), suite)
}

// partOf returns the part that consists of one episode.
func partOf(episode runs.EvalEpisode) Part {
	outcome := episode.Outcome
	if outcome.Void != "" {
		return Part{Missing: 1}
	}
	part := Part{
		Cost: episode.Cost(), Cut: outcome.Cut, Refused: outcome.Refused, Repaired: outcome.Repaired,
	}
	if outcome.Success {
		part.Successes = 1
	}

	return part
}

// evaluation returns how episode i is played.
func (e evaluating) evaluation(ctx context.Context, i int) (episode.Evaluation, error) {
	item := e.item
	v := episode.Evaluation{Spec: e.spec, System: item.System, Split: item.Split, Model: e.Policies, Over: e.Over}
	v.Recorded = envadapters.ProtocolOf(e.suite) != ""
	if !item.System.IsReference() {
		v.Summarise = play.Summariser(e.Endpoints, e.spec, rules.EvalCalls(e.spec, item.Split, i))
	}
	var err error
	v.Heard, err = e.heard(ctx, e.spec, item, i)
	if err != nil || item.System.Model == "" {
		return v, err
	}
	role := item.System.Style
	if role == "" {
		role = prompts.Agent
	}
	v.Model, _, err = e.Endpoints.For(e.spec, spec.Role(item.System.Model), role)

	return v, err
}

// evaluate plays one task. A task that is lost for good is recorded as missing: it is reported and never scored. A task
// of val is missing only if it is at fault itself or a model refuses it, because results on val decide which policies
// are used.
func (e evaluating) evaluate(ctx context.Context, task domain.Task, i int) (runs.EvalEpisode, error) {
	item := e.item
	v, err := e.evaluation(ctx, i)
	if err != nil {
		return runs.EvalEpisode{}, err
	}
	model := v.Model
	out := runs.EvalEpisode{Task: task}
	var cells domain.Outcome
	var playing envadapters.Environment
	var camera *play.Camera
	v.Decided = func(ctx context.Context, turn episode.Turn, _ agents.Config, decision domain.Decision) (err error) {
		step := runs.NewEvalStep(turn.Goal, turn.Observation, decision)
		step.Touch = turn.Touch
		if item.Judged {
			step.Right = rightActions(playing, turn.Observation)
		}
		step.Image, err = camera.Screenshot(ctx)
		out.Goal = turn.Goal
		out.Steps = append(out.Steps, step)
		cells.Cut += decision.Cut()
		cells.Refused += decision.Refused()
		cells.Repaired += decision.Repaired()
		e.progress(fmt.Sprintf("%s on %s, episode %d, step %d", item.System.Name, item.Split, i+1, turn.Number))

		return err
	}
	err = play.In(ctx, e.Common, item.Run, e.suite, v.Family(e.suite), func(env envadapters.Environment) error {
		// Another environment begins the episode anew.
		out.Steps = nil
		cells = domain.Outcome{}
		playing = env
		camera = play.NewCamera(e.Bucket, e.spec, env)
		v.Camera = camera
		v.Model = play.Steady(model, env, e.progress)
		player, topology, err := v.Player(env, i)
		if err != nil {
			return err
		}
		played, err := player.Play(ctx, env, task)
		out.Topology = topology
		out.Outcome = played.Outcome
		out.Outcome.Cut = cells.Cut
		out.Outcome.Refused = cells.Refused
		out.Outcome.Repaired = cells.Repaired
		if err == nil && len(out.Steps) > 0 {
			out.End, err = camera.Last(ctx, played)
		}

		return err
	})

	if err != nil && ctx.Err() == nil && isLost(ctx, err, item.Split) {
		out.Outcome = domain.Outcome{Void: err.Error()}
		err = nil
	}

	return out, err
}

// isLost reports whether a task cannot be played: the task is at fault, a model refuses all prompts of a step, or,
// outside of val, the environment broke at every try.
func isLost(ctx context.Context, err error, split string) bool {
	switch kind := fault.KindOf(err); {
	case errors.Is(err, envadapters.ErrTask), kind == fault.Refused:
		return true
	case kind == fault.Void && split != domain.SplitVal:
		return activity.GetInfo(ctx).Attempt >= activities.MaxTries
	}

	return false
}
