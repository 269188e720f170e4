package activities

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"time"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/care/fork"
	"github.com/collabui/collabui/internal/experiment"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/experiments"
	"github.com/collabui/collabui/internal/records/runs"
)

// ExperimentID names a version of an experiment's declaration.
type ExperimentID struct {
	Name    string
	Version int
}

// log returns the logger of an experiment.
func (id ExperimentID) log(c *Control) *slog.Logger {
	return c.log("", "experiment", id.Name, "version", id.Version)
}

// ArmID names an arm of an experiment for a seed.
type ArmID struct {
	ExperimentID
	Arm  string
	Seed int
	At   time.Time // when the arm was begun
}

// Layout is what a workflow needs of an experiment.
type Layout struct {
	Arms  []string
	Seeds int
}

// Layout returns the arms and the number of seeds of an experiment.
func (c *Control) Layout(ctx context.Context, id ExperimentID) (Layout, error) {
	return do(ctx, id.log(c), func(ctx context.Context, _ say) (Layout, error) {
		v, _, err := experiments.Experiment(id.Name).Version(id.Version).Must(ctx, c.Bucket)
		out := Layout{Seeds: v.Experiment.Seeds}
		for _, a := range v.Experiment.Arms {
			out.Arms = append(out.Arms, a.Name)
		}

		return out, err
	})
}

// Prepared is the run of an arm.
type Prepared struct {
	Run   string
	Ended bool
}

// Prepare makes the run of an arm. It shares what is equal with the run of the first arm, which has ended: it is a fork
// before the first epoch, or has only its base policy. An arm that trains another one further is a fork of its run. It
// may be repeated.
func (c *Control) Prepare(ctx context.Context, id ArmID) (Prepared, error) {
	return do(ctx, id.log(c), func(ctx context.Context, _ say) (Prepared, error) {
		v, _, err := experiments.Experiment(id.Name).Version(id.Version).Must(ctx, c.Bucket)
		if err != nil {
			return Prepared{}, err
		}
		x := v.Experiment
		s, err := x.Of(id.Arm, id.Seed, c.Catalog)
		if err != nil {
			return Prepared{}, err
		}
		out := Prepared{Run: s.Name}
		if out.Ended, err = runs.Run(s.Name).End().Exists(ctx, c.Bucket); err != nil || out.Ended {
			return out, err
		}

		if from := x.Arm(id.Arm).From; from != "" {
			return out, c.extendArm(ctx, id, v, from)
		}
		first := x.Arms[0].Name
		shares, differ := x.Shares(id.Arm, s)
		switch {
		case id.Arm == first:
		case shares == experiment.SharesRun:
			return out, c.forkArm(ctx, id, v, s, runs.Run(x.Run(first, id.Seed)), differ)
		case shares == experiment.SharesBase:
			base, _, err := runs.Run(x.Run(first, id.Seed)).Base().Must(ctx, c.Bucket)
			if err != nil {
				return out, err
			}
			s.FineTune.Base = base.Policy.Digest
			s.FineTune.Levels, s.FineTune.Data = nil, spec.LevelData{} // it has been trained on them
		}
		got, _, err := runs.Run(s.Name).Spec().Record(ctx, c.Bucket, func() (spec.Spec, error) { return s, nil })
		if err == nil && runs.Digest(got) != runs.Digest(s) {
			err = fault.New(fault.Invalid, "there is a run %s of another specification: give the experiment another "+
				"name, or delete the run", s.Name)
		}

		return out, err
	})
}

// forkArm makes the run of an arm as a fork of the run of the first.
func (c *Control) forkArm(
	ctx context.Context, id ArmID, v experiments.Version, s spec.Spec, from runs.Run, keys map[string]string,
) error {
	typed := map[string]string{}
	own := v.Experiment.Arm(id.Arm).Set
	for key := range keys {
		value, ok := own[key]
		if !ok { // only the first arm says it
			value, ok = s.Value(key)
		}
		if !ok {
			return fault.New(fault.Invalid, "arm %s: say the value of %s, which the first arm has, too", id.Arm, key)
		}
		typed[key] = value
	}

	return c.fork(ctx, id, v, fork.Request{Run: from, Typed: typed})
}

// extendArm makes the run of an arm that trains the best system of another further.
func (c *Control) extendArm(ctx context.Context, id ArmID, v experiments.Version, arm string) error {
	x := v.Experiment
	from := runs.Run(x.Run(arm, id.Seed))
	end, _, err := from.End().Must(ctx, c.Bucket)
	if err != nil {
		return err
	}
	epoch, err := c.standing(ctx, from, end.Best)
	if err != nil {
		return err
	}
	s, err := x.Of(id.Arm, id.Seed, c.Catalog)
	if err != nil {
		return err
	}

	typed := maps.Clone(x.Arm(id.Arm).Set)
	for key, value := range x.Arm(arm).Set {
		if typed[key] == value {
			delete(typed, key)
		}
	}
	typed["epochs"] = fmt.Sprint(epoch + s.Epochs)

	return c.fork(ctx, id, v, fork.Request{Run: from, Epoch: epoch, Typed: typed})
}

// fork makes the run of an arm as a fork.
func (c *Control) fork(ctx context.Context, id ArmID, v experiments.Version, r fork.Request) error {
	r.Name, r.At = runs.Run(v.Experiment.Run(id.Arm, id.Seed)), id.At
	r.Who, r.Why = v.Who, fmt.Sprintf("arm %s of experiment %s", id.Arm, id.Name)
	plan, err := fork.Plan(ctx, c.Bucket, r, spec.Source{}, c.Catalog)
	if err != nil {
		return err
	}

	return plan.Make(ctx, c.Bucket, func(int) {})
}

// standing returns the epoch whose system a run ended with, of which best is the best on val: if none is, that with
// which a fork began.
func (c *Control) standing(ctx context.Context, run runs.Run, best int) (int, error) {
	if best > 0 {
		return best, nil
	}
	origin, _, err := run.Origin().Sure(ctx, c.Bucket)

	return origin.Epoch, err
}

// Lineup is what an arm plays for an experiment.
type Lineup struct {
	Agents int
	Epochs int // that an imitation control is trained for
	First  []rules.EvalItem
	Second []rules.EvalItem // these read what was said in those
}

// LineupID asks for what an arm plays.
type LineupID struct {
	ArmID
	Imitated bool // its imitation controls are trained
}

// PlanArm returns what an arm whose run has ended plays. Imitation controls that are not trained yet are left out.
func (c *Control) PlanArm(ctx context.Context, id LineupID) (Lineup, error) {
	return do(ctx, id.log(c), func(ctx context.Context, _ say) (Lineup, error) {
		v, _, err := experiments.Experiment(id.Name).Version(id.Version).Must(ctx, c.Bucket)
		if err != nil {
			return Lineup{}, err
		}
		x, run := v.Experiment, v.Experiment.Run(id.Arm, id.Seed)
		s, err := c.spec(ctx, run, atEnd)
		if err != nil {
			return Lineup{}, err
		}
		end, _, err := runs.Run(run).End().Must(ctx, c.Bucket)
		if err != nil {
			return Lineup{}, err
		}
		policies, err := c.contestants(ctx, run, end.Best, s.Agents)
		if err != nil {
			return Lineup{}, err
		}
		if id.Imitated || end.Best == 0 {
			if policies[rules.OfImitation], err = c.imitation(ctx, run, end.Best, s.Agents); err != nil {
				return Lineup{}, err
			}
		}
		out := Lineup{Agents: s.Agents}
		if x.Imitates(id.Arm) {
			out.Epochs = end.Best
		}

		one, two := x.Plays(id.Arm)
		if out.First, err = itemsOf(x, s, run, one, policies); err == nil {
			out.Second, err = itemsOf(x, s, run, two, policies)
		}

		return out, err
	})
}

// contestants returns the policies of a run that experiments compare: the base and the trained ones. A run
// whose epochs were all rolled back has those with which it began instead of the trained ones.
func (c *Control) contestants(ctx context.Context, run string, best, agents int) (map[string][]string, error) {
	trained, err := c.standing(ctx, runs.Run(run), best)
	if err != nil {
		return nil, err
	}
	out := map[string][]string{}
	for of, epoch := range map[string]int{rules.OfBase: 0, rules.OfTrained: trained} {
		x, err := runs.Run(run).System(ctx, c.Bucket, epoch, agents)
		if err != nil {
			return nil, err
		}
		out[of] = x.Digests()
	}

	return out, nil
}

// itemsOf returns the evaluations of some systems of a run.
func itemsOf(
	x experiment.Experiment, s spec.Spec, run string, plays []experiment.Play, policies map[string][]string,
) ([]rules.EvalItem, error) {
	var out []rules.EvalItem
	for _, p := range plays {
		digests := policies[p.Kind.Of]
		if digests == nil && p.Kind.Learnt() {
			continue
		}
		system, err := p.Kind.System(s, digests)
		if err != nil {
			return nil, fault.As(fault.Invalid, err)
		}
		split := rules.Split{Episodes: x.Episodes[p.Split]}
		if split.Environment, split.Name = experiment.Elsewhere(p.Split); split.Environment != "" {
			split.Options = s.Where(split.Environment)
		}
		item := split.Item(run, rules.ExperimentFolder, system)
		item.AtEnd, item.Judged = true, true
		out = append(out, item)
	}

	return out, nil
}
