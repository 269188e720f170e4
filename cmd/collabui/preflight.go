package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	enums "go.temporal.io/api/enums/v1"

	"github.com/collabui/collabui/activities/preflight"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/experiment"
	"github.com/collabui/collabui/internal/local/disk"
	"github.com/collabui/collabui/internal/method/retrain"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/experiments"
	"github.com/collabui/collabui/internal/records/lines"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/workers"
	"github.com/collabui/collabui/workers/catalog"
	"github.com/collabui/collabui/workflows"
)

// addNoProbe adds the flag that skips the trial of models.
func addNoProbe(f *pflag.FlagSet, to *bool) {
	f.BoolVar(to, "no-probe", false, "try no model before the start; its key must be there all the same")
}

// admit records the specification of a new run, after the workers have checked that it can be run to its end. A run
// with the same specification stays as it is, and a different specification under the same name is an error. A
// specification that is not admitted leaves nothing behind.
func (s *session) admit(ctx context.Context, x spec.Spec, noProbe bool, todo string) error {
	name := runs.Run(x.Name)
	_, known, err := name.Spec().Sure(ctx, s.bucket)
	if err != nil {
		return err
	}
	if known {
		return recordSpec(ctx, s.bucket, x, todo)
	}
	part, err := s.bucket.List(ctx, name.Prefix())
	if err != nil {
		return err
	}
	if len(part) > 0 {
		return fault.New(fault.Invalid, "there is no run %s, but a part of one: a fork or a copy of that name was cut "+
			"short. Finish it with the same command as before, or choose another name", x.Name)
	}

	if err := workers.CheckNamespace(ctx, s.temporal, s.ends.Namespace); err != nil {
		return err
	}
	if err := s.preflight(ctx, x.Name, preflight.ID{NoProbe: noProbe}, x); err != nil {
		return err
	}

	return recordSpec(ctx, s.bucket, x, todo)
}

// admitSchedule checks what a schedule would train next: the accepted system of its line, on its environment.
func (s *session) admitSchedule(ctx context.Context, x retrain.Schedule, noProbe bool) error {
	of, err := s.trainedNext(ctx, x)
	if err != nil {
		return err
	}
	of.Environments = maps.Clone(of.Environments)
	if of.Environments == nil {
		of.Environments = map[string]envadapters.Options{}
	}
	maps.Copy(of.Environments, x.Environments)
	of.Environment, of.Environments[x.Environment] = x.Environment, x.Where()

	return s.preflight(ctx, x.Name, preflight.ID{NoProbe: noProbe}, continued(of))
}

// trainedNext returns the specification with which a schedule trains the accepted system of its line further. If there
// is no such system yet, it returns a specification with the fewest requirements of the environment.
func (s *session) trainedNext(ctx context.Context, x retrain.Schedule) (spec.Spec, error) {
	accepted, _, accepts, err := lines.Line(x.Line).Standing(ctx, s.bucket)
	if err != nil {
		return spec.Spec{}, err
	}
	if !accepts {
		say(s.err, "note: line %s has no accepted system yet: the schedule fails until you accept one with %s", x.Line,
			s.typed("line promote %s RUN --why TEXT", x.Line))
		of := spec.Default()
		of.Name, of.Credit, of.Preference = x.Name, spec.CreditOutcome, spec.PreferenceRFT
		of.Evaluation.TestSeeds, of.Evaluation.TestTemplates, of.Evaluation.TestApps = 0, 0, 0

		return of, nil
	}

	of, err := runs.Run(accepted.System.Run).At(ctx, s.bucket, accepted.System.Epoch)
	if err != nil {
		return of, err
	}

	return of.Set(x.Train.Set, spec.Source{}, catalog.All{})
}

// continued returns a specification whose stage 1 has ended already.
func continued(x spec.Spec) spec.Spec {
	x.FineTune.Levels, x.FineTune.Base = nil, domain.UntrainedBase

	return x
}

// admitExperiment checks all arms of an experiment that has not been declared yet, and the models that play in it.
func (s *session) admitExperiment(ctx context.Context, x experiment.Experiment, noProbe bool) error {
	known, err := experiments.Experiment(x.Name).Versions(ctx, s.bucket)
	if err != nil || len(known) > 0 {
		return err
	}
	id := preflight.ID{NoProbe: noProbe}
	var all []spec.Spec
	for _, arm := range x.Arms {
		of, err := x.Of(arm.Name, 1, catalog.All{})
		if err != nil {
			return err
		}
		one, two := x.Plays(arm.Name)
		for _, p := range append(one, two...) {
			if _, ok := of.Models[spec.Role(p.Kind.Of)]; ok && !slices.Contains(id.Models, p.Kind.Of) {
				id.Models = append(id.Models, p.Kind.Of)
			}
			environment, split := experiment.Elsewhere(p.Split)
			where := spec.Elsewhere{Environment: environment, Split: split}
			if environment != "" && !slices.Contains(of.Evaluation.OutOfDistribution, where) {
				of.Evaluation.OutOfDistribution = append(of.Evaluation.OutOfDistribution, where)
			}
		}
		if arm.From != "" {
			of = continued(of)
		}
		all = append(all, of)
	}

	return s.preflight(ctx, x.Name, id, all...)
}

// preflightLimit limits the time of all checks before a start. A model that thinks may take two minutes for its trial.
const preflightLimit = 5 * time.Minute

// preflight lets the workers check specifications. It returns an invalid fault if one could not be run to its end.
func (s *session) preflight(ctx context.Context, name string, id preflight.ID, all ...spec.Spec) error {
	ctx, cancel := context.WithTimeout(ctx, preflightLimit)
	defer cancel()
	found := append(s.absent(ctx), s.promised(ctx)...)
	if err := s.ends.CheckRedisKind(ctx); err != nil {
		found = append(found, preflight.Obstacle{Where: "redis", Why: err.Error()})
	}
	if err := disk.Room(s.data, minFree); err != nil && !s.cluster {
		found = append(found, preflight.Obstacle{Where: "disk", Why: err.Error()})
	}
	if !slices.ContainsFunc(found, func(o preflight.Obstacle) bool { return !o.Warning }) {
		more, err := s.examine(ctx, name, id, all)
		if err != nil {
			return err
		}
		found = append(found, more...)
	}

	text := ""
	for _, o := range found {
		if o.Warning {
			say(s.err, "note: %s: %s", o.Where, o.Why)
			continue
		}
		text += fmt.Sprintf("\n  %s: %s", o.Where, o.Why)
	}
	if text == "" {
		return nil
	}
	if !s.cluster && strings.Contains(text, "this worker ") { // the supervisor started it, and has its variables
		text += fmt.Sprintf("\nthe worker here has the variables of the command that started it: set what is missing, "+
			"stop it with %s, and start the same again", s.typed("down"))
	}

	return fault.New(fault.Invalid, "%s was not started, and nothing was recorded, because it could not end:%s",
		name, text)
}

// promised tries what the store must promise. Promises that cannot be tried do not prevent a start: the store may have
// a bad moment, or people's keys may be narrow.
func (s *session) promised(ctx context.Context) []preflight.Obstacle {
	ctx, cancel := context.WithTimeout(ctx, trialLimit)
	defer cancel()
	broken, err := store.Promises(ctx, s.bucket)
	switch {
	case broken != "":
		return []preflight.Obstacle{{Where: "store", Why: broken + ": see " + whatAStorePromises}}
	case err != nil:
		return []preflight.Obstacle{{Where: "store", Why: err.Error(), Warning: true}}
	}

	return nil
}

// examine runs the workflow that checks specifications.
func (s *session) examine(
	ctx context.Context, name string, id preflight.ID, all []spec.Spec,
) (found []preflight.Obstacle, err error) {
	for _, x := range all {
		raw, err := json.Marshal(preflight.Candidate{At: time.Now(), Spec: x})
		if err != nil {
			return nil, fault.As(fault.Fatal, err)
		}
		ref, err := store.PutBlob(ctx, s.bucket, raw)
		if err != nil {
			return nil, err
		}
		defer func() { // otherwise gc would remove it
			brief, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer cancel()
			_ = s.bucket.Delete(brief, ref.Key)
		}()
		id.Specs = append(id.Specs, ref.SHA256)
	}
	if ctx, err = s.here(ctx, ""); err != nil {
		return nil, err
	}
	o := startOptions(fmt.Sprintf("preflight/%s/%.12s", name, runs.Digest(id)), "checks before "+name+" starts")
	w, err := s.temporal.ExecuteWorkflow(ctx, o, workflows.Preflight, id)
	if err == nil {
		err = w.Get(ctx, &found)
	}
	if err != nil {
		return nil, fault.New(fault.Transient, "check %s before its start: %w", name, err)
	}

	return found, nil
}

// absent returns the roles whose task queues no worker polls. It gives workers that have just started a moment.
func (s *session) absent(ctx context.Context) []preflight.Obstacle {
	var out []preflight.Obstacle
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(200 * time.Millisecond) {
		out = nil
		for _, role := range workers.Roles {
			res, err := s.temporal.DescribeTaskQueue(ctx, role, enums.TASK_QUEUE_TYPE_ACTIVITY)
			if err == nil && len(res.Pollers) == 0 {
				out = append(out, preflight.Obstacle{Where: "workers", Why: "no worker of the role " + role +
					" has asked for work in the last minutes: start `collabui worker --roles " + role +
					"` on a machine for it"})
			}
		}
		if len(out) == 0 || time.Now().After(end) {
			return out
		}
	}
}
