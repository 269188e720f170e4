package pilot

import (
	"strings"

	"github.com/collabui/collabui/internal/experiment/estimate"
	"github.com/collabui/collabui/internal/method/prompts"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store/runs"
)

// calls is what the recorded calls of one role took.
type calls struct {
	n             float64
	tokens, money estimate.Sample
}

// calls reads the recorded calls to chat endpoints.
func (m *measuring) calls() error {
	return m.run.Calls(m.ctx, m.bucket, nil, func(_ string, a runs.Answer) {
		c := m.byRole[a.Role]
		if c == nil {
			c = &calls{}
			m.byRole[a.Role] = c
		}
		c.n++
		c.tokens = append(c.tokens, float64(a.Usage.Prompt+a.Usage.Answer))
		c.money = append(c.money, a.Cost)
	})
}

// units is the work of a role, in the pilot and in the run.
type units struct{ pilot, run float64 }

// agreeing is the share of the calls about agents' answers that is left, at least, when trained agents agree: equal
// answers are asked about once. It is an assumption.
const agreeing = 0.5

// names of roles as the estimate shows them; the others keep their own.
var names = map[string]string{
	prompts.Agent:        "UI agent of stage 1",
	prompts.Questions:    "author of level 1",
	prompts.Instructions: "author of level 2",
}

// OfStage1 reports whether a line of an estimate is work of stage 1 alone. An arm that begins with the base policy of
// another does not repeat it.
func OfStage1(line string) bool {
	for _, role := range []string{prompts.Agent, prompts.Questions, prompts.Instructions} {
		if line == names[role] {
			return true
		}
	}

	return strings.HasPrefix(line, stage1)
}

// stage1 begins the names of the phases of stage 1.
const stage1 = "stage 1"

// roles scales the calls of every role to the run. The screens that a level is written about are bounded by the
// specification; those of the pilot are bounded more tightly.
func (m *measuring) roles() {
	work := m.work()
	for _, role := range prompts.Roles {
		c := m.byRole[role]
		if c == nil {
			continue
		}
		name := names[role]
		if name == "" {
			name = role
		}
		low := work[role].run
		if role == prompts.Critic || role == prompts.Adversary {
			low *= agreeing
		}
		m.out.Roles = append(m.out.Roles, estimate.Role{
			Name: name, Calls: c.n, Units: work[role].pilot, Low: low, Total: work[role].run,
			Tokens: c.tokens, Money: c.money,
			Steps: role != prompts.Questions && role != prompts.Instructions,
		})
	}
	m.policies()
}

// work returns the units by which the calls of every role grow.
func (m *measuring) work() map[string]units {
	run, pilot := m.demonstrations()
	played := m.pilotSlots()
	perSlot := func(x float64) float64 {
		if played == 0 {
			return 0
		}
		return x / played * m.slots()
	}
	evaluated := func(s spec.Spec) float64 { // steps, if episodes are as long as the pilot's
		if played == 0 {
			return 0
		}
		one, many := evaluations(s, chunks(s))
		return (one + many) * m.steps / played
	}

	return map[string]units{
		prompts.Agent:        {pilot: pilot, run: run},
		prompts.Questions:    {pilot: m.asked[1], run: m.screens(1)},
		prompts.Instructions: {pilot: m.asked[2], run: m.screens(2)},
		prompts.Critic:       {pilot: m.audits + m.asked[3], run: perSlot(m.audits) + m.screens(3)},
		prompts.Adversary:    {pilot: m.proposals + m.asked[3], run: perSlot(m.proposals) + m.screens(3)},
		prompts.Summariser: {
			pilot: m.screenCount + m.steps + evaluated(m.pilot),
			run:   m.screenCount*run/pilot + perSlot(m.steps) + evaluated(m.spec),
		},
	}
}

// policies adds the calls of the policies under training.
func (m *measuring) policies() {
	played := m.pilotSlots()
	if played == 0 {
		return
	}
	m.out.Roles = append(m.out.Roles, estimate.Role{
		Name: policyCalls + "rollouts", Calls: m.cells, Units: played, Total: m.slots(), Tokens: m.tokens, Steps: true,
	})
	for _, e := range m.evaluated {
		if e.episodes == 0 {
			continue
		}
		m.out.Roles = append(m.out.Roles, estimate.Role{
			Name: policyCalls + e.name, Calls: e.calls, Units: e.episodes, Low: e.low, Total: e.total,
			Tokens: e.tokens, Steps: true,
		})
	}
}

// policyCalls begins the names of the calls of policies, which are not recorded one by one.
const policyCalls = "policies, "
