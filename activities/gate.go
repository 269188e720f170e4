package activities

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/retrain"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/policy/endpoints"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/records/schedules"
)

// PlanGate returns what the accepted and the re-trained system play, each the same episodes. None means that no epoch
// made a system that could be accepted.
func (c *Control) PlanGate(ctx context.Context, id FiringID) ([]rules.EvalItem, error) {
	return do(ctx, id.log(c), func(ctx context.Context, _ say) ([]rules.EvalItem, error) {
		f, v, err := c.firing(ctx, id)
		if err != nil {
			return nil, err
		}
		epoch, err := c.candidate(ctx, f)
		if err != nil || epoch == 0 {
			return nil, err
		}
		s, suite, err := c.retrained(ctx, f)
		if err != nil {
			return nil, err
		}
		trained, err := runs.Run(f.Run).System(ctx, c.Bucket, epoch, s.Agents)
		if err != nil {
			return nil, err
		}

		var items []rules.EvalItem
		for _, group := range groupsOf(f) {
			tasks, err := gateTasks(ctx, s, suite, f.Run, group, v.Schedule.Gate.Episodes)
			if err != nil {
				return nil, err
			}
			for _, system := range []rules.EvalSystem{
				rules.AllAgents(s, nameAccepted, f.Accepted.Digests()),
				rules.AllAgents(s, nameRetrained, trained.Digests()),
			} {
				item, err := c.item(ctx, f, system, group.name, tasks)
				if err != nil {
					return nil, err
				}
				items = append(items, item)
			}
		}

		return items, nil
	})
}

// candidate returns the epoch of a firing's run whose system may be accepted: the best on val of those that it added.
// 0 means that there is none.
func (c *Control) candidate(ctx context.Context, f schedules.Firing) (int, error) {
	end, _, err := runs.Run(f.Run).End().Must(ctx, c.Bucket)
	if err != nil {
		return 0, fmt.Errorf("run %s has not ended: %w", f.Run, err)
	}
	if end.Best <= f.Accepted.Epoch {
		return 0, nil
	}

	return end.Best, nil
}

// group is a group of templates.
type group struct {
	name      string
	templates []string
}

// groupsOf returns the groups that a gate compares. After a drift, all tasks are those that should become better.
func groupsOf(f schedules.Firing) []group {
	if len(f.New) == 0 {
		return []group{{retrain.GroupNew, f.Old}}
	}
	groups := []group{{retrain.GroupNew, f.New}}
	if len(f.Old) > 0 {
		groups = append(groups, group{retrain.GroupOld, f.Old})
	}

	return groups
}

// gateSplits are the splits whose tasks gates may play, best first.
var gateSplits = []string{domain.SplitTestSeeds, domain.SplitVal}

// gateSplit returns the split whose tasks of a group a gate plays. It is an invalid fault if the environment has none.
func gateSplit(i runs.Inventory, g group) (string, error) {
	for _, split := range gateSplits {
		if slices.ContainsFunc(i.Templates[split], func(t string) bool { return slices.Contains(g.templates, t) }) {
			return split, nil
		}
	}

	return "", fault.New(fault.Invalid, "environment %s has none of the %s training templates (%s) in %s, so that no "+
		"gate could compare systems on them: let it offer them there, too", i.Environment, g.name, few(g.templates),
		strings.Join(gateSplits, " or "))
}

// checkGate returns an invalid fault if a firing's gate could not be played, so that nothing is trained that nobody
// could accept.
func checkGate(i runs.Inventory, f schedules.Firing) error {
	for _, g := range groupsOf(f) {
		if _, err := gateSplit(i, g); err != nil {
			return err
		}
	}

	return nil
}

// gateTasks draws n tasks of a group: its templates take turns. Every firing has its own, so that a line is not fitted
// to those of its gate.
func gateTasks(
	ctx context.Context, s spec.Spec, suite envadapters.Suite, run string, g group, n int,
) ([]domain.Task, error) {
	offers, err := inventory(ctx, s.Environment, suite)
	if err != nil {
		return nil, err
	}
	split, err := gateSplit(offers, g)
	if err != nil {
		return nil, err
	}
	known, err := suite.Templates(split)
	if err != nil {
		return nil, err
	}
	known = slices.DeleteFunc(slices.Clone(known), func(t envadapters.Template) bool {
		return !slices.Contains(g.templates, t.Name)
	})

	tasks := make([]domain.Task, n)
	for i := range tasks {
		t := known[i%len(known)]
		tasks[i] = domain.Task{
			Suite: suite.Name(), Template: t.Name, Split: split, MaxSteps: t.MaxSteps,
			Seed: domain.Seed(s.Evaluation.Seed, "gate", run, g.name, i),
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
	return do(ctx, id.log(c), func(ctx context.Context, _ say) (Judged, error) {
		f, v, err := c.firing(ctx, id)
		if err != nil {
			return Judged{}, err
		}
		g, _, err := runs.Run(f.Run).Gate().Record(ctx, c.Bucket, func() (runs.Gate, error) {
			return c.gate(ctx, f, v)
		})

		return Judged{Accepted: g.Accepted, Why: g.Why()}, err
	})
}

// gate compares both systems on what they have played.
func (c *Control) gate(ctx context.Context, f schedules.Firing, v schedules.Version) (runs.Gate, error) {
	g := runs.Gate{Against: f.Accepted.String(), Results: []runs.Result{}}
	var err error
	if g.Epoch, err = c.candidate(ctx, f); err != nil {
		return g, err
	}
	if g.Epoch == 0 {
		g.Verdict.Checks = []retrain.Check{{
			Name: "a candidate", Text: "no epoch made a system that the gates of training let pass",
		}}

		return g, nil
	}

	var tokens [2]runs.Cost
	var episodes int
	for _, group := range groupsOf(f) {
		var pairs []retrain.Pair
		for n := 1; n <= v.Schedule.Gate.Episodes; n++ {
			endpoints.Progress(ctx, fmt.Sprintf("%s, episode %d", group.name, n))
			var both [2]runs.EvalEpisode
			for i, system := range []string{nameAccepted, nameRetrained} {
				id := rules.EvalID(gateFolder, system, group.name)
				if both[i], _, err = runs.Run(f.Run).EvalEpisode(id, n).Must(ctx, c.Bucket); err != nil {
					return g, err
				}
			}
			if both[0].Outcome.Void != "" || both[1].Outcome.Void != "" {
				continue
			}
			pairs = append(pairs, retrain.Pair{
				Template: both[0].Task.Template, Old: both[0].Outcome.Success, New: both[1].Outcome.Success,
			})
			tokens[0], tokens[1] = tokens[0].Plus(both[0].Cost()), tokens[1].Plus(both[1].Cost())
			episodes++
		}
		g.Groups = append(g.Groups, retrain.NewGroup(group.name, pairs))
		for _, system := range []string{nameAccepted, nameRetrained} {
			r, _, err := runs.Run(f.Run).Result(rules.EvalID(gateFolder, system, group.name)).Must(ctx, c.Bucket)
			if err != nil {
				return g, err
			}
			g.Results = append(g.Results, r)
		}
	}
	g.TokensOld, g.TokensNew = perEpisode(tokens[0], episodes), perEpisode(tokens[1], episodes)
	g.Verdict = v.Schedule.Gate.Decide(g.Evidence)

	return g, nil
}

func perEpisode(c runs.Cost, episodes int) float64 {
	return float64(c.Prompt+c.Answer) / float64(max(episodes, 1))
}
