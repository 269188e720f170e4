package mind2web

import (
	"fmt"
	"slices"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters/recorded"
)

// groupSize is the number of candidates per question of the official protocol.
const groupSize = 5

// maxQuestions bounds the questions of one step of the official protocol. Each question removes five candidates and
// puts back at most one.
const maxQuestions = (TopK-1)/(groupSize-1) + 1

// maxHistory is the number of earlier actions that the published prompt shows.
const maxHistory = 5

// none is the answer that no candidate is right.
var none = domain.Action{Family: domain.FamilyWeb, Type: domain.ActionNone}

// episode is a recorded task that is being played.
//
// The official protocol shuffles the candidates of a step and presents them in groups of five, with "none" as a further
// answer. It then presents the chosen candidates again until one is left. The last one chosen is the prediction; if no
// candidate is left, there is no prediction. The loop equals the published evaluation, except that a step without a
// right candidate, which scores 0 in any case, has only one question.
//
// The list protocol shows all candidates at once.
type episode struct {
	task     task
	ranks    ranking
	official bool
	seed     uint64

	step int
	// prepared is false until the fields below belong to the step.
	prepared   bool
	candidates []candidate
	right      []string
	// pool contains the candidates of the official protocol that are still to be presented, or were chosen.
	pool []candidate
	last domain.Action
}

// Goal returns the goal of the recorded task.
func (e *episode) Goal() string { return e.task.Goal }

// begin prepares the current step.
func (e *episode) begin() {
	if e.prepared {
		return
	}

	e.prepared = true
	a := e.task.Actions[e.step]
	e.candidates, e.right = e.ranks.top(e.task, a)
	e.last = none
	e.pool = nil
	for _, i := range domain.Rand(e.seed, "candidates", e.task.ID, a.ID).Perm(len(e.candidates)) {
		e.pool = append(e.pool, e.candidates[i])
	}
}

// group returns the candidates of the current question.
func (e *episode) group() []candidate {
	if e.official {
		return e.pool[:min(groupSize, len(e.pool))]
	}
	return e.candidates
}

// Pose returns the current question.
func (e *episode) Pose() (recorded.Pose, bool) {
	if e.step == len(e.task.Actions) {
		return recorded.Pose{}, false
	}

	e.begin()
	a := e.task.Actions[e.step]
	group := e.group()
	pose := recorded.Pose{History: e.history()}
	pose.Observation.Elements = a.elements(group)
	for _, id := range e.right {
		if slices.ContainsFunc(group, func(c candidate) bool { return c.Node == id }) {
			pose.Right = append(pose.Right, a.do(id))
		}
	}
	if len(pose.Right) == 0 && e.official {
		pose.Right = []domain.Action{none}
	}

	return pose, true
}

// history returns the last recorded actions, at most maxHistory.
func (e *episode) history() []string {
	var out []string
	for i := max(0, e.step-maxHistory); i < min(e.step, len(e.task.Reprs)); i++ {
		out = append(out, fmt.Sprintf("%d %s", i+1, e.task.Reprs[i]))
	}

	return out
}

// Do answers the current question. It returns the score of the step if this was its last question, and nil otherwise.
func (e *episode) Do(a domain.Action) map[string]domain.Metric {
	e.begin()
	if !e.official {
		e.last = a
	} else if !e.choose(a) {
		return nil
	}

	m := score(e.last, e.right, e.task.Actions[e.step].op())
	e.step++
	e.prepared = false

	return m
}

// choose applies an answer of the official protocol and reports whether the step is over.
func (e *episode) choose(a domain.Action) (over bool) {
	group := e.group()
	e.pool = e.pool[len(group):]
	if i := slices.IndexFunc(group, func(c candidate) bool { return c.Node == a.Element }); i >= 0 {
		e.pool = append(e.pool, group[i])
		e.last = a
	}
	if len(e.pool) > 1 && len(e.right) > 0 {
		return false
	}

	// The published evaluation never presents a single candidate, so it is never chosen.
	if len(e.pool) == 0 || len(e.candidates) == 1 {
		e.last = none
	}

	return true
}
