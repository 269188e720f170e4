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
	"github.com/collabui/collabui/internal/care/fork"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/lines"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/records/schedules"
)

// FiringID names a firing of a schedule.
type FiringID struct {
	Schedule string
	Version  int       // of the schedule
	ID       string    // such as 20261123-030000
	At       time.Time // when it began
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
	Missed   int                // firings that were too late since the one before
	Approval string             // how long a person has to approve; empty: nobody is asked
}

// Look compares what a schedule's environment offers now with what the accepted system of its line was made for. It
// asks no model. It is an invalid fault if the line has no accepted system, or if no gate could compare systems on what
// is new.
func (c *Control) Look(ctx context.Context, id FiringID) (Found, error) {
	return do(ctx, id.log(c), func(ctx context.Context, _ say) (Found, error) {
		name := schedules.Schedule(id.Schedule)
		v, _, err := name.Version(id.Version).Must(ctx, c.Bucket)
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
			Missed: f.Missed - f.MissedBefore,
		}
		o, ended, err := name.Outcome(id.ID).May(ctx, c.Bucket)
		if ended {
			out.Outcome = &o
		}

		return out, err
	})
}

// look finds what is new.
func (c *Control) look(ctx context.Context, v schedules.Version, id FiringID) (schedules.Firing, error) {
	f := schedules.Firing{ID: id.ID, Version: v.Number, At: id.At}
	var err error
	if f.Missed, f.MissedBefore, err = c.missed(ctx, id); err != nil {
		return f, err
	}
	line := lines.Line(v.Schedule.Line)
	accepted, history, accepts, err := line.Standing(ctx, c.Bucket)
	if err != nil {
		return f, err
	}
	if !accepts {
		return f, fault.New(fault.Invalid, "line %s has no accepted system yet: accept one with "+
			"`collabui line promote %s RUN --why TEXT`", line, line)
	}
	f.Entries, f.Accepted = accepted.Number+len(history), accepted.System
	if accepted.Basis == nil || accepted.Verb == lines.Rollback { // a person accepted it, perhaps again
		if history, err = line.History(ctx, c.Bucket, 0); err != nil {
			return f, err
		}
	}

	before, err := runs.Run(accepted.System.Run).Inventory(ctx, c.Bucket, accepted.System.Epoch)
	if err != nil {
		return f, err
	}
	before = within(before, v.Schedule.Where())
	now, err := c.Suites.look(ctx, v.Schedule.Environment, v.Schedule.Where())
	if err != nil {
		return f, err
	}
	ref, err := now.PutBlob(ctx, c.Bucket)
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

	again := decided(history, f.Basis)
	if again == "" && f.News == schedules.NewsCheck && !v.Schedule.Drift.Always {
		if again, err = c.checked(ctx, id.Schedule, f.Basis); err != nil {
			return f, err
		}
	}
	if again != "" {
		f.News, f.Why = schedules.NewsNone, again

		return f, nil
	}
	f.Run = id.Schedule + "-" + id.ID  // a line may have several schedules
	if f.News != schedules.NewsCheck { // which trains only what has become worse
		err = checkGate(now, f)
	}

	return f, err
}

// checked says which firing of a schedule has checked the same for drift, and how that ended; otherwise it is empty.
func (c *Control) checked(ctx context.Context, schedule string, basis lines.Basis) (string, error) {
	name := schedules.Schedule(schedule)
	var last schedules.Outcome
	err := name.Backward(ctx, c.Bucket, func(o schedules.Outcome) bool {
		if o.News == schedules.NewsCheck && o.Verb == schedules.VerbNone {
			last = o
		}

		return last.ID == ""
	})
	if err != nil || last.ID == "" {
		return "", err
	}
	f, _, err := name.Firing(last.ID).Must(ctx, c.Bucket)
	if err != nil || !f.Basis.Same(basis) {
		return "", err
	}

	return fmt.Sprintf("nothing has changed since firing %s checked it: %s", last.ID, last.Why), nil
}

// missed returns how many firings of a schedule were too late until now, and until the firing before.
func (c *Control) missed(ctx context.Context, id FiringID) (now, before int, err error) {
	if c.Notices.Missed == nil {
		return 0, 0, nil
	}
	last, ok, err := schedules.Schedule(id.Schedule).Before(ctx, c.Bucket, id.ID)
	if err != nil {
		return 0, 0, err
	}
	if now, err = c.Notices.Missed(ctx, id.Schedule); err != nil {
		return 0, 0, fault.New(fault.Transient, "ask Temporal for schedule %s: %w", id.Schedule, err)
	}
	if ok {
		before = min(last.Missed, now) // a schedule that was created anew counts from 0
	}

	return now, before, nil
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
	f, _, err := name.Firing(id.ID).Must(ctx, c.Bucket)
	if err != nil {
		return f, schedules.Version{}, err
	}
	v, _, err := name.Version(f.Version).Must(ctx, c.Bucket)

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
