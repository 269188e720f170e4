package retrain

import (
	"context"
	"fmt"
	"slices"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/activities/play"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/internal/method/retrain"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/policy/endpoints"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/records/schedules"
)

// PlanGate returns what the accepted and the re-trained system play, each the same episodes. Without items, no epoch
// made a system that could be accepted.
func (c *Control) PlanGate(ctx context.Context, id FiringID) ([]rules.EvalItem, error) {
	log := id.log(c.Log)

	return activities.Do(ctx, log, func(ctx context.Context, _ activities.Progress) ([]rules.EvalItem, error) {
		firing, version, err := c.firing(ctx, id)
		if err != nil {
			return nil, err
		}
		epoch, err := c.candidate(ctx, firing)
		if err != nil || epoch == 0 {
			return nil, err
		}
		specification, suite, err := c.retrained(ctx, firing)
		if err != nil {
			return nil, err
		}
		trained, err := runs.Run(firing.Run).System(ctx, c.Bucket, epoch, specification.Agents)
		if err != nil {
			return nil, err
		}

		var items []rules.EvalItem
		for _, group := range groupsOf(firing) {
			tasks, err := gateTasks(ctx, specification, suite, firing.Run, group, version.Schedule.Gate.Episodes)
			if err != nil {
				return nil, err
			}
			for _, system := range []rules.EvalSystem{
				rules.AllAgents(specification, nameAccepted, firing.Accepted.Digests()),
				rules.AllAgents(specification, nameRetrained, trained.Digests()),
			} {
				item, err := c.item(ctx, firing, system, group.name, tasks)
				if err != nil {
					return nil, err
				}
				items = append(items, item)
			}
		}

		return items, nil
	})
}

// candidate returns the epoch of a firing's run whose system may be accepted: the best on val of the epochs that it
// added, or 0 if no epoch is.
func (c *Control) candidate(ctx context.Context, firing schedules.Firing) (int, error) {
	end, _, err := runs.Run(firing.Run).End().Must(ctx, c.Bucket)
	if err != nil {
		return 0, fmt.Errorf("run %s has not ended: %w", firing.Run, err)
	}
	if end.Best <= firing.Accepted.Epoch {
		return 0, nil
	}

	return end.Best, nil
}

// gateTasks draws n tasks of a group: its templates take turns. Every firing has its own tasks, so that a line is not
// fitted to the tasks of its gate.
func gateTasks(
	ctx context.Context, specification spec.Spec, suite envadapters.Suite, run string, g group, n int,
) ([]domain.Task, error) {
	offered, err := play.InventoryOf(ctx, specification.Environment, suite)
	if err != nil {
		return nil, err
	}
	split, err := gateSplit(offered, g)
	if err != nil {
		return nil, err
	}
	templates, err := suite.Templates(split)
	if err != nil {
		return nil, err
	}
	templates = slices.DeleteFunc(slices.Clone(templates), func(t envadapters.Template) bool {
		return !slices.Contains(g.templates, t.Name)
	})

	tasks := make([]domain.Task, n)
	for i := range tasks {
		template := templates[i%len(templates)]
		tasks[i] = domain.Task{
			Suite: suite.Name(), Template: template.Name, Split: split, MaxSteps: template.MaxSteps,
			Seed: domain.Seed(specification.Evaluation.Seed, "gate", run, g.name, i),
		}
	}

	return tasks, nil
}

// Judged is the verdict of a gate in a few words.
type Judged struct {
	Accepted bool
	Why      string
}

// Judge records what the gate found and its verdict.
func (c *Control) Judge(ctx context.Context, id FiringID) (Judged, error) {
	return activities.Do(ctx, id.log(c.Log), func(ctx context.Context, _ activities.Progress) (Judged, error) {
		firing, version, err := c.firing(ctx, id)
		if err != nil {
			return Judged{}, err
		}
		gateRecord, _, err := runs.Run(firing.Run).Gate().Record(ctx, c.Bucket, func() (runs.GateRecord, error) {
			return c.gate(ctx, firing, version)
		})

		return Judged{Accepted: gateRecord.Accepted, Why: gateRecord.Why()}, err
	})
}

// gate compares both systems on what they have played.
func (c *Control) gate(
	ctx context.Context, firing schedules.Firing, version schedules.Version,
) (runs.GateRecord, error) {
	gate := runs.GateRecord{Against: firing.Accepted.String(), Results: []runs.Result{}}
	var err error
	gate.Epoch, err = c.candidate(ctx, firing)
	if err != nil {
		return gate, err
	}
	if gate.Epoch == 0 {
		gate.Verdict.Checks = []retrain.Check{{
			Name: "a candidate", Text: "no epoch made a system that the gates of training let pass",
		}}

		return gate, nil
	}

	var old, retrained runs.Cost
	episodes := 0
	for _, group := range groupsOf(firing) {
		var pairs []retrain.PairedEpisode
		for n := 1; n <= version.Schedule.Gate.Episodes; n++ {
			endpoints.Progress(ctx, fmt.Sprintf("%s, episode %d", group.name, n))
			before, after, err := c.bothEpisodes(ctx, firing, group, n)
			if err != nil {
				return gate, err
			}
			if before.Outcome.Void != "" || after.Outcome.Void != "" {
				continue
			}
			pairs = append(pairs, retrain.PairedEpisode{
				Template: before.Task.Template, Old: before.Outcome.Success, New: after.Outcome.Success,
			})
			old = old.Plus(before.Cost())
			retrained = retrained.Plus(after.Cost())
			episodes++
		}
		gate.Groups = append(gate.Groups, retrain.NewGroup(group.name, pairs))
		for _, system := range []string{nameAccepted, nameRetrained} {
			id := rules.EvalID(gateFolder, system, group.name)
			result, _, err := runs.Run(firing.Run).Result(id).Must(ctx, c.Bucket)
			if err != nil {
				return gate, err
			}
			gate.Results = append(gate.Results, result)
		}
	}
	gate.TokensOld = perEpisode(old, episodes)
	gate.TokensNew = perEpisode(retrained, episodes)
	gate.Verdict = version.Schedule.Gate.Decide(gate.Evidence)

	return gate, nil
}

// bothEpisodes reads episode n of a group, as the accepted and as the re-trained system played it.
func (c *Control) bothEpisodes(
	ctx context.Context, firing schedules.Firing, g group, n int,
) (accepted, retrained runs.EvalEpisode, err error) {
	read := func(system string) (runs.EvalEpisode, error) {
		id := rules.EvalID(gateFolder, system, g.name)
		episode, _, err := runs.Run(firing.Run).EvalEpisode(id, n).Must(ctx, c.Bucket)

		return episode, err
	}
	accepted, err = read(nameAccepted)
	if err == nil {
		retrained, err = read(nameRetrained)
	}

	return accepted, retrained, err
}

// perEpisode returns the tokens of an episode.
func perEpisode(cost runs.Cost, episodes int) float64 {
	return float64(cost.Prompt+cost.Answer) / float64(max(episodes, 1))
}
