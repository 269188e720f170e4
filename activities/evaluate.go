package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"go.temporal.io/sdk/activity"
	"golang.org/x/sync/errgroup"

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

// EvalBatch is the number of episodes per activity. They are played as places of the worker become free.
const EvalBatch = 10

// EvalRange is a part of an item.
type EvalRange struct {
	Item rules.EvalItem
	From int
	To   int // exclusive
}

// EvalPart counts what became of a range.
type EvalPart struct {
	Successes, Missing int
	Cost               runs.Cost // of the episodes that are not missing
	Cut                int       `json:",omitempty"` // cells whose prompts lack a part of the agent's view
	Refused            int       `json:",omitempty"` // cells whose prompts the model refused
	Repaired           int       `json:",omitempty"` // cells that were read although they are not as the prompt asks

	Over bool `json:",omitempty"` // the item has a result already, here or where a fork comes from: nothing was played
}

// Plus returns the counts of both parts.
func (p EvalPart) Plus(q EvalPart) EvalPart {
	return EvalPart{
		Successes: p.Successes + q.Successes, Missing: p.Missing + q.Missing, Cost: p.Cost.Plus(q.Cost),
		Cut: p.Cut + q.Cut, Refused: p.Refused + q.Refused, Repaired: p.Repaired + q.Repaired,
		Over: p.Over || q.Over,
	}
}

// Evaluate plays a range of an evaluation's tasks. A fault repeats the same task, an outcome never does.
func (r *Rollouts) Evaluate(ctx context.Context, e EvalRange) (EvalPart, error) {
	item := e.Item
	log := r.log(item.Run, "system", item.System.Name, "split", item.Split, "from", e.From, "to", e.To)
	if epoch, ok := rules.EpochOf(item.Folder); ok {
		ctx = endpoints.InEpoch(ctx, epoch)
	}

	return do(ctx, log, func(ctx context.Context, say say) (EvalPart, error) {
		var out EvalPart
		over, err := runs.Run(item.Run).Result(item.ID()).Exists(ctx, r.Bucket)
		if err != nil || over {
			return EvalPart{Over: over}, err
		}
		s, err := r.played(ctx, item)
		if err != nil {
			return out, err
		}
		suite, err := r.Suites.get(ctx, item.Where(s))
		if err != nil {
			return out, err
		}

		given, err := r.given(ctx, item)
		if err != nil {
			return out, err
		}
		own, err := r.own(ctx, item.Run)
		if err != nil {
			return out, err
		}
		play := func(i int) (ep runs.EvalEpisode, err error) {
			if err := r.evaluatesSame(ctx, s, item, suite); err != nil { // any worker reads what was played
				return ep, err
			}
			task, err := taskOf(s, suite, item, given, i)
			if err != nil {
				return ep, err
			}
			ep, err = r.evaluate(ctx, s, suite, item, task, i, say)
			ep.By = own.By

			return ep, err
		}
		parts := make([]EvalPart, e.To-e.From)
		var open errgroup.Group // an episode that fails does not end the others
		for i := e.From; i < e.To; i++ {
			open.Go(func() error {
				played := runs.Run(item.Run).EvalEpisode(item.ID(), i+1)
				ep, _, err := played.Record(ctx, r.Bucket, func() (runs.EvalEpisode, error) { return play(i) })
				say(fmt.Sprintf("%s on %s, episode %d has ended", item.System.Name, item.Split, i+1))
				parts[i-e.From] = partOf(ep)

				return own.check(played.Key, ep.By, err)
			})
		}
		if err := open.Wait(); err != nil {
			return out, err
		}
		for _, part := range parts {
			out = out.Plus(part)
		}
		r.Emit.send(item.Run, events.Evaluation{
			Folder: item.Folder, System: item.System.Name, Split: item.Split,
			From: e.From, To: e.To, Successes: out.Successes,
		})

		return out, nil
	})
}

// given returns the tasks that an item names; nil means those of its split.
func (r *Rollouts) given(ctx context.Context, item rules.EvalItem) ([]domain.Task, error) {
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

// taskOf returns task i of an item.
func taskOf(
	s spec.Spec, suite envadapters.Suite, item rules.EvalItem, given []domain.Task, i int,
) (domain.Task, error) {
	if given != nil {
		return given[i], nil
	}

	return rules.EvalTask(s, suite, item.Split, i)
}

// evaluatesSame refuses to evaluate an epoch with something else than it began with. An evaluation in another
// environment may have another browser.
func (r *Rollouts) evaluatesSame(
	ctx context.Context, s spec.Spec, item rules.EvalItem, suite envadapters.Suite,
) error {
	if _, ok := rules.EpochOf(item.Folder); !ok {
		return nil
	}
	if item.Environment != "" {
		suite = nil
	}

	return r.sameAs(ctx, s, epochOf(item), suite)
}

// partOf returns the part that is one episode.
func partOf(ep runs.EvalEpisode) EvalPart {
	if ep.Outcome.Void != "" {
		return EvalPart{Missing: 1}
	}
	p := EvalPart{
		Cost: ep.Cost(), Cut: ep.Outcome.Cut, Refused: ep.Outcome.Refused, Repaired: ep.Outcome.Repaired,
	}
	if ep.Outcome.Success {
		p.Successes = 1
	}

	return p
}

// evaluate plays one task. A task that is lost for good is recorded as missing: it is reported and never scored. A task
// of val is missing only if it is at fault itself or a model refuses it, because results on val decide which policies
// are used.
func (r *Rollouts) evaluate(
	ctx context.Context, s spec.Spec, suite envadapters.Suite, item rules.EvalItem, task domain.Task, i int, say say,
) (runs.EvalEpisode, error) {
	v := episode.Evaluation{Spec: s, System: item.System, Split: item.Split, Model: r.Policies, Over: r.Wording.Over}
	v.Recorded = envadapters.ProtocolOf(suite) != ""
	if line := summarise(r.Endpoints, s, rules.EvalCalls(s, item.Split, i)); line != nil && !item.System.IsReference() {
		v.Summarise = line
	}

	var err error
	if v.Heard, err = r.heard(ctx, item, i); err != nil {
		return runs.EvalEpisode{}, err
	}
	if item.System.Model != "" {
		role := item.System.Style
		if role == "" {
			role = prompts.Agent
		}
		if v.Model, _, err = r.Endpoints.For(s, spec.Role(item.System.Model), role); err != nil {
			return runs.EvalEpisode{}, err
		}
	}

	model := v.Model
	out := runs.EvalEpisode{Task: task}
	var counted domain.Outcome // of cells
	var playing envadapters.Environment
	v.Decided = func(ctx context.Context, t episode.Turn, _ agents.Config, d domain.Decision) (err error) {
		step := runs.NewEvalStep(t.Goal, t.Observation, d)
		step.Touch = t.Touch
		if item.Judged {
			step.Right = right(playing, t.Observation)
		}
		step.Image, err = r.picture(ctx, s, playing)
		out.Goal, out.Steps = t.Goal, append(out.Steps, step)
		counted.Cut += d.Cut()
		counted.Refused += d.Refused()
		counted.Repaired += d.Repaired()
		say(fmt.Sprintf("%s on %s, episode %d, step %d", item.System.Name, item.Split, i+1, t.Number))

		return err
	}
	err = r.in(ctx, item.Run, suite, v.Family(suite), func(env envadapters.Environment) error {
		out.Steps, counted = nil, domain.Outcome{} // another environment begins the episode anew
		playing, v.Model = env, steadily(model, env, say)
		player, topology, err := v.Player(env, i)
		if err != nil {
			return err
		}
		played, err := player.Play(ctx, env, task)
		out.Topology, out.Outcome = topology, played.Outcome
		out.Outcome.Cut, out.Outcome.Refused, out.Outcome.Repaired = counted.Cut, counted.Refused, counted.Repaired
		if err == nil && len(out.Steps) > 0 {
			out.End, err = r.end(ctx, s, env, played)
		}

		return err
	})

	if err != nil && ctx.Err() == nil && lost(ctx, err, item.Split) {
		out.Outcome, err = domain.Outcome{Void: err.Error()}, nil
	}

	return out, err
}

// lost reports whether a task cannot be played: the task is at fault, a model refuses all prompts of a step, or,
// outside of val, the environment broke at every try.
func lost(ctx context.Context, err error, split string) bool {
	switch kind := fault.KindOf(err); {
	case errors.Is(err, envadapters.ErrTask), kind == fault.Refused:
		return true
	case kind == fault.Void && split != domain.SplitVal:
		return activity.GetInfo(ctx).Attempt >= MaxTries
	}

	return false
}
