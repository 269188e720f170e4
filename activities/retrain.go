package activities

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/fork"
	"github.com/collabui/collabui/internal/store/lines"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/internal/store/schedules"
)

// FiringID names a firing of a schedule.
type FiringID struct {
	Schedule string
	Version  int       // of the schedule
	ID       string    // such as 20261123-030000
	At       time.Time // when it began
	Missed   int       `json:",omitempty"` // firings that were too late, until now
}

// log returns the logger of a firing.
func (id FiringID) log(c *Control) *slog.Logger {
	return c.log("", "schedule", id.Schedule, "firing", id.ID)
}

// Found is what a workflow needs of a firing.
type Found struct {
	News     schedules.News
	Why      string
	Run      string
	Line     string
	Outcome  *schedules.Outcome // nil unless the firing has ended already
	Approval string             // how long a person has to approve; empty: nobody is asked
}

// Look compares what a schedule's environment offers now with what the accepted system of its line was made for. It
// asks no model. It is an invalid fault if the line has no accepted system.
func (c *Control) Look(ctx context.Context, id FiringID) (Found, error) {
	return do(ctx, id.log(c), func(ctx context.Context, _ say) (Found, error) {
		name := schedules.Schedule(id.Schedule)
		v, _, err := name.Version(id.Version).Read(ctx, c.Bucket)
		if err != nil {
			return Found{}, err
		}
		f, _, err := name.Firing(id.ID).Record(ctx, c.Bucket, func() (schedules.Firing, error) {
			return c.look(ctx, v, id)
		})
		if err != nil {
			return Found{}, err
		}

		out := Found{
			News: f.News, Why: f.Why, Run: f.Run, Line: v.Schedule.Line, Approval: v.Schedule.Approval.Within,
		}
		o, _, err := name.Outcome(id.ID).Read(ctx, c.Bucket)
		if err == nil {
			out.Outcome = &o
		}
		if missing(err) {
			err = nil
		}

		return out, err
	})
}

// look finds what is new.
func (c *Control) look(ctx context.Context, v schedules.Version, id FiringID) (schedules.Firing, error) {
	f := schedules.Firing{ID: id.ID, Version: v.Number, At: id.At, Missed: id.Missed}
	line := lines.Line(v.Schedule.Line)
	history, err := line.History(ctx, c.Bucket, 0)
	if err != nil {
		return f, err
	}
	accepted, err := line.Current(ctx, c.Bucket)
	if missing(err) {
		return f, fault.New(fault.Invalid, "line %s has no accepted system yet: accept one with "+
			"`collabui line promote %[1]s RUN --why TEXT`", v.Schedule.Line)
	}
	if err != nil {
		return f, err
	}
	f.Entries, f.Accepted = len(history), accepted.System

	before, err := runs.Run(accepted.System.Run).Inventory(ctx, c.Bucket, accepted.System.Epoch)
	if missing(err) {
		return f, fault.New(fault.Invalid, "%s, which line %s accepts, does not say which tasks it was made for, as "+
			"an older version made it: accept a system of a newer one", accepted.System, v.Schedule.Line)
	}
	if err != nil {
		return f, err
	}
	now, err := c.Suites.look(ctx, v.Schedule.Environment, v.Schedule.Where())
	if err != nil {
		return f, err
	}
	ref, err := now.Write(ctx, c.Bucket)
	if err != nil {
		return f, err
	}
	f.Basis = lines.Basis{
		Accepted: accepted.System.String(), Inventory: ref, Schedule: id.Schedule, Firing: id.ID,
	}
	f.Old, f.New = before.Same(now, domain.SplitTrain)
	f.News, f.Why = newsOf(v, before, now, f)
	if f.News == schedules.NewsNone {
		return f, nil
	}

	if again := decided(history, f.Basis); again != "" {
		f.News, f.Why = schedules.NewsNone, again
	} else {
		f.Run = v.Schedule.Line + "-" + id.ID
	}

	return f, nil
}

// newsOf returns what a firing finds, and says it.
func newsOf(
	v schedules.Version, before, now runs.Inventory, f schedules.Firing,
) (news schedules.News, why string) {
	same := before.Digest() == now.Digest()
	switch {
	case len(f.New) > 0 && len(f.Old) == 0:
		return schedules.NewsEnvironment, fmt.Sprintf("%s is new: none of its %d training templates is known",
			now.Environment, len(f.New))
	case len(f.New) > 0:
		return schedules.NewsTasks, fmt.Sprintf("%d new training templates: %s", len(f.New), few(f.New))
	case !same && len(f.Old) > 0:
		return schedules.NewsCheck, "the environment has changed, but has no new training templates"
	case v.Schedule.Drift.Always && len(f.Old) > 0:
		return schedules.NewsCheck, "the schedule checks for drift at every firing"
	case !same:
		return schedules.NewsNone, "the environment offers no training templates any more"
	}

	return schedules.NewsNone, "the environment offers what the accepted system was made for"
}

// few returns some names.
func few(names []string) string {
	const shown = 8
	if len(names) > shown {
		return strings.Join(names[:shown], ", ") + ", …"
	}

	return strings.Join(names, ", ")
}

// decided says that the same was decided before, and how; otherwise it is empty.
func decided(history []lines.Entry, basis lines.Basis) string {
	for _, e := range slices.Backward(history) {
		if e.Basis != nil && e.Basis.Same(basis) && e.Verb != lines.Rollback {
			return fmt.Sprintf("nothing has changed since entry %d of the line: %s of %s, because %s",
				e.Number, e.Verb, e.System, e.Why)
		}
	}

	return ""
}

// firing reads what a firing found, with the version of its schedule.
func (c *Control) firing(ctx context.Context, id FiringID) (schedules.Firing, schedules.Version, error) {
	name := schedules.Schedule(id.Schedule)
	f, _, err := name.Firing(id.ID).Read(ctx, c.Bucket)
	if err != nil {
		return f, schedules.Version{}, err
	}
	v, _, err := name.Version(f.Version).Read(ctx, c.Bucket)

	return f, v, err
}

// Fork makes the run that trains the accepted system again: a fork of its run after its epoch, on what the environment
// offers now. It may be repeated.
func (c *Control) Fork(ctx context.Context, id FiringID) (string, error) {
	return do(ctx, id.log(c), func(ctx context.Context, say say) (string, error) {
		f, v, err := c.firing(ctx, id)
		if err != nil {
			return "", err
		}
		typed, err := c.values(ctx, f, v)
		if err != nil {
			return "", err
		}
		plan, err := fork.Plan(ctx, c.Bucket, fork.Request{
			Run: runs.Run(f.Accepted.Run), Name: runs.Run(f.Run), Epoch: f.Accepted.Epoch,
			Who: "schedule " + id.Schedule, Why: f.Why, At: f.At, Typed: typed,
		}, spec.Source{}, c.Catalog)
		if err != nil {
			return "", err
		}

		return f.Run, plan.Make(ctx, c.Bucket, func(n int) { say(fmt.Sprintf("%d objects are shared", n)) })
	})
}

// values returns the values that a fork has of its schedule, in YAML by key.
func (c *Control) values(ctx context.Context, f schedules.Firing, v schedules.Version) (map[string]string, error) {
	s, err := runs.Run(f.Accepted.Run).At(ctx, c.Bucket, f.Accepted.Epoch)
	if err != nil {
		return nil, err
	}
	environments := maps.Clone(s.Environments)
	if environments == nil {
		environments = map[string]envadapters.Options{}
	}
	maps.Copy(environments, v.Schedule.Environments)
	now, err := runs.ReadInventory(ctx, c.Bucket, f.Basis.Inventory)
	if err != nil {
		return nil, err
	}
	where := v.Schedule.Where()
	where.Inventory = now.Digest()
	environments[v.Schedule.Environment] = where

	typed := maps.Clone(v.Schedule.Train.Set)
	if typed == nil {
		typed = map[string]string{}
	}
	typed["environment"] = v.Schedule.Environment
	typed["epochs"] = fmt.Sprint(f.Accepted.Epoch + v.Schedule.Train.Epochs)
	typed["environments"] = encoded(environments)
	typed["focus"] = encoded(spec.Focus{})
	if len(f.New) > 0 && len(f.Old) > 0 {
		typed["focus"] = encoded(spec.Focus{Templates: f.New, Share: 1 - v.Schedule.Train.Replay})
	}

	return typed, nil
}

// encoded returns JSON, which is YAML.
func encoded(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // plain values
	}

	return string(raw)
}

// driftSplit labels the episodes of the check for drift.
const driftSplit = "drift"

// PlanDrift returns what the accepted system plays to be checked: tasks of val that it knew. None means that it cannot
// be checked, because nobody knows how it did.
func (c *Control) PlanDrift(ctx context.Context, id FiringID) ([]rules.EvalItem, error) {
	return do(ctx, id.log(c), func(ctx context.Context, _ say) ([]rules.EvalItem, error) {
		f, v, err := c.firing(ctx, id)
		if err != nil {
			return nil, err
		}
		s, suite, err := c.retrained(ctx, f)
		if err != nil {
			return nil, err
		}
		if _, err := c.valOf(ctx, f.Accepted); missing(err) {
			return nil, nil
		} else if err != nil {
			return nil, err
		}
		tasks := make([]domain.Task, v.Schedule.Drift.Episodes)
		for i := range tasks {
			if tasks[i], err = rules.EvalTask(s, suite, domain.SplitVal, i); err != nil {
				return nil, err
			}
		}
		accepted := rules.Together(s, nameAccepted, f.Accepted.Digests())
		item, err := c.item(ctx, f, accepted, driftSplit, tasks)

		return []rules.EvalItem{item}, err
	})
}

// retrained returns the newest specification of a firing's run, and its suite.
func (c *Control) retrained(ctx context.Context, f schedules.Firing) (spec.Spec, envadapters.Suite, error) {
	s, err := c.spec(ctx, f.Run, atEnd)
	if err != nil {
		return s, nil, err
	}
	suite, err := c.Suites.get(ctx, s.Where(s.Environment))

	return s, suite, err
}

// valOf returns what an accepted system reached on val when it was made.
func (c *Control) valOf(ctx context.Context, x lines.System) (runs.Result, error) {
	s, err := runs.Run(x.Run).At(ctx, c.Bucket, x.Epoch)
	if err != nil {
		return runs.Result{}, err
	}

	return c.val(ctx, x.Run, x.Epoch, rules.ValName(s, x.Epoch))
}

// Systems that a firing evaluates.
const (
	nameAccepted  = "accepted"
	nameRetrained = "retrained"
)

// gateFolder is the folder of a firing's evaluations, below those of its run.
const gateFolder = "gate"

// item returns an evaluation of given tasks.
func (c *Control) item(
	ctx context.Context, f schedules.Firing, system rules.EvalSystem, split string, tasks []domain.Task,
) (rules.EvalItem, error) {
	raw, err := json.Marshal(tasks)
	if err != nil {
		return rules.EvalItem{}, fault.As(fault.Fatal, err)
	}
	ref, err := store.PutBlob(ctx, c.Bucket, raw)

	return rules.EvalItem{
		Run: f.Run, Folder: gateFolder, System: system, Split: split, Episodes: len(tasks), AtEnd: true,
		Tasks: ref.SHA256,
	}, err
}

// Drifted reports whether the accepted system fell below the interval of what it reached on val when it was made, and
// says what was seen.
func (c *Control) Drifted(ctx context.Context, r Checked) (Drift, error) {
	return do(ctx, r.Firing.log(c), func(ctx context.Context, _ say) (Drift, error) {
		f, _, err := c.firing(ctx, r.Firing)
		if err != nil {
			return Drift{}, err
		}
		was, err := c.valOf(ctx, f.Accepted)
		if err != nil {
			return Drift{}, err
		}
		d := Drift{Drifted: r.Result.Rate < was.Low}
		d.Why = fmt.Sprintf("%s solves %.1f %% of %d tasks of val; when it was made it was %.1f [%.1f, %.1f] %%",
			f.Accepted, 100*r.Result.Rate, r.Result.Episodes, 100*was.Rate, 100*was.Low, 100*was.High)

		return d, nil
	})
}

// Checked is the result of a check for drift.
type Checked struct {
	Firing FiringID
	Result runs.Result
}

// Drift says whether the accepted system has become worse.
type Drift struct {
	Drifted bool
	Why     string
}
