package experiment

import (
	"context"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/activities/update"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/experiment"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/experiments"
	"github.com/collabui/collabui/internal/records/runs"
)

// Lineup is what an arm plays for an experiment.
type Lineup struct {
	Agents int
	Epochs int // the number of epochs for which an imitation control is trained
	First  []rules.EvalItem
	Second []rules.EvalItem // these read messages of the first items
}

// LineupID names what an arm plays.
type LineupID struct {
	ArmID
	Imitated bool // its imitation controls are trained
}

// PlanArm returns what an arm whose run has ended plays. Imitation controls that are not trained yet are left out.
func (c *Control) PlanArm(ctx context.Context, id LineupID) (Lineup, error) {
	return activities.Do(ctx, id.log(c.Log), func(ctx context.Context, _ activities.Progress) (Lineup, error) {
		version, _, err := experiments.Experiment(id.Name).Version(id.Version).Must(ctx, c.Bucket)
		if err != nil {
			return Lineup{}, err
		}

		return c.lineup(ctx, id, version.Experiment)
	})
}

func (c *Control) lineup(ctx context.Context, id LineupID, declared experiment.Experiment) (Lineup, error) {
	run := declared.Run(id.Arm, id.Seed)
	specification, err := c.Runs.Spec(ctx, run, activities.AtEnd)
	if err != nil {
		return Lineup{}, err
	}
	end, _, err := runs.Run(run).End().Must(ctx, c.Bucket)
	if err != nil {
		return Lineup{}, err
	}
	policies, err := c.contestants(ctx, run, end.Best, specification.Agents)
	if err != nil {
		return Lineup{}, err
	}
	if id.Imitated || end.Best == 0 {
		policies[rules.OfImitation], err = update.Imitations(ctx, c.Bucket, run, end.Best, specification.Agents)
		if err != nil {
			return Lineup{}, err
		}
	}
	out := Lineup{Agents: specification.Agents}
	if declared.Imitates(id.Arm) {
		out.Epochs = end.Best
	}

	first, second := declared.Plays(id.Arm)
	out.First, err = itemsOf(declared, specification, run, first, policies)
	if err == nil {
		out.Second, err = itemsOf(declared, specification, run, second, policies)
	}

	return out, err
}

// contestants returns the policies of a run that experiments compare: the base and the trained ones. If all epochs of a
// run were rolled back, the policies with which it began count as trained.
func (c *Control) contestants(ctx context.Context, run string, best, agents int) (map[string][]string, error) {
	trained, err := c.standing(ctx, runs.Run(run), best)
	if err != nil {
		return nil, err
	}
	out := map[string][]string{}
	for of, epoch := range map[string]int{rules.OfBase: 0, rules.OfTrained: trained} {
		system, err := runs.Run(run).System(ctx, c.Bucket, epoch, agents)
		if err != nil {
			return nil, err
		}
		out[of] = system.Digests()
	}

	return out, nil
}

// itemsOf returns the evaluations of some systems of a run.
func itemsOf(
	declared experiment.Experiment, given spec.Spec, run string, plays []experiment.Play, policies map[string][]string,
) ([]rules.EvalItem, error) {
	var out []rules.EvalItem
	for _, play := range plays {
		digests := policies[play.Kind.Of]
		if digests == nil && play.Kind.Learnt() {
			continue
		}
		system, err := play.Kind.System(given, digests)
		if err != nil {
			return nil, fault.As(fault.Invalid, err)
		}
		split := rules.Split{Episodes: declared.Episodes[play.Split]}
		split.Environment, split.Name = experiment.Elsewhere(play.Split)
		if split.Environment != "" {
			split.Options = given.Where(split.Environment)
		}
		item := split.Item(run, rules.ExperimentFolder, system)
		item.AtEnd = true
		item.Judged = true
		out = append(out, item)
	}

	return out, nil
}
