// Package preflight checks specifications before anything starts, so that what starts can be run to its end.
package preflight

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	enums "go.temporal.io/api/enums/v1"

	"github.com/collabui/collabui/activities/preflight"
	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/cmd/collabui/health"
	"github.com/collabui/collabui/cmd/collabui/terminal"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/local/disk"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/workers"
	"github.com/collabui/collabui/workflows"
)

// AddNoProbe adds the flag that skips the trial of models.
func AddNoProbe(flags *pflag.FlagSet, to *bool) {
	flags.BoolVar(to, "no-probe", false, "try no model before the start; its key must be there all the same")
}

// Continued returns a specification whose stage 1 has ended already.
func Continued(wanted spec.Spec) spec.Spec {
	wanted.FineTune.Levels = nil
	wanted.FineTune.Base = domain.UntrainedBase

	return wanted
}

// preflightLimit limits the time of all checks before a start. A model that thinks may take two minutes for its trial.
const preflightLimit = 5 * time.Minute

// Check lets the workers check specifications. If one could not be run to its end, it returns an invalid fault, or a
// transient one if all that is missing is a service that does not respond.
func Check(ctx context.Context, session *app.Session, name string, id preflight.ID, all ...spec.Spec) error {
	ctx, cancel := context.WithTimeout(ctx, preflightLimit)
	defer cancel()
	found := append(workerObstacles(ctx, session), storeObstacles(ctx, session)...)
	if err := session.Endpoints.CheckRedisKind(ctx); err != nil {
		found = append(found, preflight.Obstacle{Where: "redis", Why: err.Error()})
	}
	if err := disk.Room(session.Data, health.MinFree); err != nil && !session.Cluster {
		found = append(found, preflight.Obstacle{Where: "disk", Why: err.Error()})
	}
	if !slices.ContainsFunc(found, func(obstacle preflight.Obstacle) bool { return !obstacle.Warning }) {
		more, err := examine(ctx, session, name, id, all)
		if err != nil {
			return err
		}
		found = append(found, more...)
	}

	for _, o := range found {
		if o.Warning {
			terminal.Line(session.Err, "note: %s: %s", o.Where, o.Why)
		}
	}

	return refusal(session, name, found)
}

// refusal returns the fault of what was not started, or nil if all obstacles are warnings.
func refusal(session *app.Session, name string, found []preflight.Obstacle) error {
	text := ""
	kind := fault.Transient
	for _, o := range found {
		if o.Warning {
			continue
		}
		text += fmt.Sprintf("\n  %s: %s", o.Where, o.Why)
		if !o.Transient {
			kind = fault.Invalid
		}
	}
	if text == "" {
		return nil
	}
	if !session.Cluster && strings.Contains(text, "this worker ") { // the supervisor started it, and has its variables
		text += fmt.Sprintf("\nthe worker here has the variables of the command that started it: set what is missing, "+
			"stop it with %s, and start the same again", session.Typed("down"))
	}

	return fault.New(kind, "%s was not started, and nothing was recorded, because it could not end:%s", name, text)
}

// storeObstacles tries what the store must promise. Promises that cannot be tried do not prevent a start: the store may
// have a bad moment, or people's keys may be narrow.
func storeObstacles(ctx context.Context, session *app.Session) []preflight.Obstacle {
	ctx, cancel := context.WithTimeout(ctx, health.TrialLimit)
	defer cancel()
	broken, err := store.Promises(ctx, session.Store)
	switch {
	case broken != "":
		return []preflight.Obstacle{{Where: "store", Why: broken + ": see " + health.PromisesSection}}
	case err != nil:
		return []preflight.Obstacle{{Where: "store", Why: err.Error(), Warning: true}}
	}

	return nil
}

// examine runs the workflow that checks specifications.
func examine(
	ctx context.Context, session *app.Session, name string, id preflight.ID, all []spec.Spec,
) (found []preflight.Obstacle, err error) {
	for _, wanted := range all {
		raw, err := json.Marshal(preflight.Candidate{At: time.Now(), Spec: wanted})
		if err != nil {
			return nil, fault.As(fault.Fatal, err)
		}
		ref, err := store.PutBlob(ctx, session.Store, raw)
		if err != nil {
			return nil, err
		}
		defer func() { // otherwise gc would remove it
			brief, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer cancel()
			_ = session.Store.Delete(brief, ref.Key)
		}()
		id.Specs = append(id.Specs, ref.SHA256)
	}
	if ctx, err = session.StartContext(ctx, ""); err != nil {
		return nil, err
	}
	o := app.StartOptions(fmt.Sprintf("preflight/%s/%.12s", name, runs.Digest(id)), "checks before "+name+" starts")
	workflowRun, err := session.Temporal.ExecuteWorkflow(ctx, o, workflows.Preflight, id)
	if err == nil {
		err = workflowRun.Get(ctx, &found)
	}
	if err != nil {
		return nil, fault.New(fault.Transient, "check %s before its start: %w", name, err)
	}

	return found, nil
}

// workerObstacles returns the roles whose task queues no worker polls. It gives workers that have just started a
// moment.
func workerObstacles(ctx context.Context, session *app.Session) []preflight.Obstacle {
	var out []preflight.Obstacle
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(200 * time.Millisecond) {
		out = nil
		for _, role := range workers.Roles {
			res, err := session.Temporal.DescribeTaskQueue(ctx, role, enums.TASK_QUEUE_TYPE_ACTIVITY)
			if err == nil && len(res.Pollers) == 0 {
				out = append(out, preflight.Obstacle{Where: "workers", Transient: true, Why: "no worker of the role " +
					role + " has asked for work in the last minutes: start `collabui worker --roles " + role +
					"` on a machine for it"})
			}
		}
		if len(out) == 0 || time.Now().After(end) {
			return out
		}
	}
}
