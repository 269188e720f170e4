package mind2web

import (
	"fmt"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters/recorded"
)

// groupSize is the number of candidates per question of the official protocol.
const groupSize = 5

// maxQuestions bounds the questions of one step of the official protocol: each takes five candidates away and gives at most one back.
const maxQuestions = (TopK-1)/(groupSize-1) + 1

// maxHistory is the number of earlier actions that the published prompt shows.
const maxHistory = 5

// episode is a recorded task under way. In the official protocol the candidates of a step are shuffled and asked about in groups of five, "none" being an answer; the chosen
// ones are asked about again until one is left; the last one chosen is the prediction, and it is none where none is left. That is the published evaluation's loop, to the letter;
// only that a step without a right candidate, which counts 0 anyway, is asked about once. In the list protocol all candidates are shown at once.
type episode struct {
	task     task
	ranks    ranking
	official bool
	seed     uint64

	at      int // the step
	cs      []candidate
	right   []string
	pool    []candidate // of the official protocol: not yet asked about, or chosen
	last    domain.Action
	started bool
}

func (e *episode) Goal() string { return e.task.Goal }

// begin prepares the present step.
func (e *episode) begin() {
	if e.started {
		return
	}
	e.started = true
	a := e.task.Actions[e.at]
	e.cs, e.right = e.ranks.top(e.task, a)
	e.last = domain.Action{Family: domain.FamilyWeb, Type: domain.ActionNone}
	e.pool = nil
	for _, i := range domain.Rand(e.seed, "candidates", e.task.ID, a.ID).Perm(len(e.cs)) {
		e.pool = append(e.pool, e.cs[i])
	}
}

// asked are the candidates of the present question.
func (e *episode) asked() []candidate {
	if e.official {
		return e.pool[:min(groupSize, len(e.pool))]
	}
	return e.cs
}

func (e *episode) Pose() (recorded.Pose, bool) {
	if e.at == len(e.task.Actions) {
		return recorded.Pose{}, false
	}
	e.begin()
	a := e.task.Actions[e.at]
	p := recorded.Pose{History: []string{}}
	for i := max(0, e.at-maxHistory); i < min(e.at, len(e.task.Reprs)); i++ {
		p.History = append(p.History, fmt.Sprintf("%d %s", i+1, e.task.Reprs[i]))
	}
	cs := e.asked()
	p.Observation.Elements = a.elements(cs)
	for _, id := range e.right {
		for _, c := range cs {
			if c.Node == id {
				p.Right = append(p.Right, a.do(id))
			}
		}
	}
	if len(p.Right) == 0 && e.official {
		p.Right = []domain.Action{{Family: domain.FamilyWeb, Type: domain.ActionNone}}
	}
	return p, true
}

func (e *episode) Do(a domain.Action) map[string]domain.Metric {
	e.begin()
	chosen := -1
	for i, c := range e.asked() {
		if c.Node == a.Element {
			chosen = i
		}
	}
	if !e.official {
		e.last = a
	} else {
		group := e.asked()
		e.pool = e.pool[len(group):]
		if chosen >= 0 {
			e.pool, e.last = append(e.pool, group[chosen]), a
		}
		if len(e.pool) > 1 && len(e.right) > 0 {
			return nil
		}
		if len(e.pool) == 0 || len(e.cs) == 1 { // none of the above, everywhere; a single candidate is never asked about, so it is never chosen
			e.last = domain.Action{Family: domain.FamilyWeb, Type: domain.ActionNone}
		}
	}
	m := score(e.last, e.right, e.task.Actions[e.at].op())
	e.at, e.started = e.at+1, false
	return m
}
