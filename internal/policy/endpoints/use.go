package endpoints

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/prompts"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
)

// firstAnswers is the number of answers after which a helper is judged. examplesShown is the number of its useless
// answers that a person sees.
const (
	firstAnswers  = 20
	examplesShown = 2
)

// helper is a model that plays a role in an epoch of a run.
type helper struct {
	run      string
	identity string // identity of the run; a name may be reused after a deletion
	epoch    int
	role     string
	settings string // digest of the model's settings
}

// use counts the answers of a helper by whether they were useful.
type use struct {
	answers, useless int
	examples         []string
	stopped          bool
	changes          int // number of changes of the run when the helper was stopped
}

// uses counts answers that this worker paid for. It is safe for concurrent use.
type uses struct {
	mu      sync.Mutex
	helpers map[helper]*use
}

// useOf returns the use of a helper. Callers hold mu.
func (u *uses) useOf(h helper) *use {
	if u.helpers == nil {
		u.helpers = map[helper]*use{}
	}
	if u.helpers[h] == nil {
		u.helpers[h] = &use{}
	}

	return u.helpers[h]
}

// add counts an answer. wrong is the reason why the answer is useless, or empty.
func (u *uses) add(h helper, call, wrong string) {
	u.mu.Lock()
	defer u.mu.Unlock()

	x := u.useOf(h)
	x.answers++
	if wrong == "" {
		return
	}
	x.useless++
	if len(x.examples) < examplesShown {
		x.examples = append(x.examples, call+": "+wrong)
	}
}

// isPoor reports whether a person must decide, because more than the given share of a helper's answers are useless.
// Of agents, all answers must be useless, since their mistakes are data of the method.
func (x use) isPoor(role string, share float64) bool {
	if role == prompts.Agent || slices.Contains(prompts.Styles, role) {
		return x.answers >= firstAnswers && x.useless == x.answers && share < 1
	}

	return x.answers >= firstAnswers && float64(x.useless) > share*float64(x.answers)
}

// check returns an invalid fault if a helper is useless. The helper may be called again after a person has accepted the
// missing answers, or has changed or resumed the run.
func (u *uses) check(ctx context.Context, endpoints *Endpoints, given spec.Spec, name string, h helper) error {
	u.mu.Lock()
	x := *u.useOf(h)
	u.mu.Unlock()
	if !x.isPoor(h.role, given.FailedShare) {
		return nil
	}

	run := runs.Run(given.Name)
	accepted, err := run.IsAccepted(ctx, endpoints.Bucket, h.epoch)
	if err != nil {
		return err
	}
	changes, err := run.Changes(ctx, endpoints.Bucket, 0, 0)
	if err != nil {
		return err
	}

	u.mu.Lock()
	defer u.mu.Unlock()
	current := u.useOf(h)
	if accepted || current.stopped && len(changes) != current.changes {
		*current = use{}

		return nil
	}
	current.stopped = true
	current.changes = len(changes)

	return fault.New(fault.Invalid, "models.%s is of no use as the %s: %d of its %d answers in epoch %d are missing, "+
		"empty or cannot be read, more than failed_share allows. Examples: %s. Correct its settings or its server, "+
		"and try again with `collabui resume %s`, or continue without what is missing with "+
		"`collabui resume %[7]s --accept-failed --why TEXT`%s",
		name, h.role, x.useless, x.answers, h.epoch, strings.Join(x.examples, "; "), given.Name,
		otherModelHint(given, h.role))
}

// otherModelHint returns the part of the message that explains how to choose another model for a role from the next
// epoch on. It returns "" for roles of stage 1, which cannot change.
func otherModelHint(specification spec.Spec, role string) string {
	switch role {
	case prompts.Critic, prompts.Adversary, prompts.Summariser:
		return fmt.Sprintf(" and choose another model for the epochs that follow with `collabui set %s %s.model=NAME`",
			specification.Name, role)
	}

	return ""
}
