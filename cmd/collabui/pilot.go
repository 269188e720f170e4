package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/experiment/estimate"
	"github.com/collabui/collabui/internal/method/prompts"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
)

// measure reads a finished pilot p of s.
func measure(ctx context.Context, b store.Bucket, t client.Client, s, p spec.Spec) (estimate.Pilot, error) {
	m := &measuring{ctx: ctx, b: b, t: t, s: s, p: p}
	for _, f := range []func() error{m.episodes, m.calls, m.stage1, m.times, m.disk} {
		if err := f(); err != nil {
			return m.out, err
		}
	}
	return m.out, nil
}

type measuring struct {
	ctx  context.Context
	b    store.Bucket
	t    client.Client
	s, p spec.Spec
	out  estimate.Pilot

	cells, audits, proposals, pairs, steps float64 // of the pilot's epoch
	tokens                                 estimate.Sample
	byRole                                 map[string]*call
	trajectories                           float64    // steps of trajectories
	asked                                  [4]float64 // screens, by level
}

// baseSystems is the number of systems that are evaluated at epoch 0: one agent in two decodings, and n agents.
func baseSystems(s spec.Spec) int {
	if s.Agents == 1 {
		return 2
	}
	return 3
}

// evaluations are the episodes of all evaluations of a specification; chunks is the number of stage 1's.
func evaluations(s spec.Spec, chunks int) float64 {
	systems := baseSystems(s)
	n := s.Evaluation.Val * (chunks + systems)
	if s.Epochs > 0 {
		n += s.Evaluation.Val * (s.Epochs / s.Evaluation.Every)
		systems++
	}
	return float64(n + (systems-1)*(s.Evaluation.TestSeeds+s.Evaluation.TestTemplates))
}

func chunks(s spec.Spec) int {
	if n := len(s.FineTune.LevelJobs()); n > 0 || s.FineTune.Base != "" {
		return n
	}
	return s.FineTune.MaxChunks
}

func (m *measuring) total() float64 { return float64(m.s.Epochs * m.s.Slots) }

// episodes reads the pilot's rollouts: their length, cells, pairs.
func (m *measuring) episodes() error {
	for slot := 1; slot <= m.p.Slots && m.p.Epochs > 0; slot++ {
		ep, _, err := runs.Run(m.p.Name).Episode(m.ctx, m.b, 1, slot)
		if err != nil {
			return err
		}
		if ep.Failed != "" {
			continue
		}
		m.out.Steps.Pilot = append(m.out.Steps.Pilot, float64(ep.Outcome.Steps))
		m.steps += float64(ep.Outcome.Steps)
		for _, r := range ep.Steps {
			st, _, err := store.Read[runs.Step](m.ctx, m.b, r.Key)
			if err != nil {
				return err
			}
			for _, c := range st.Decision.Cells {
				m.cells++
				m.tokens = append(m.tokens, float64(c.Usage.Prompt+c.Usage.Answer))
			}
		}
		cr, _, err := runs.Run(m.p.Name).Credits(1, slot).Read(m.ctx, m.b)
		if err != nil {
			return err
		}
		ps, _, err := runs.Run(m.p.Name).Pairs(1, slot).Read(m.ctx, m.b)
		if err != nil {
			return err
		}
		m.audits, m.proposals, m.pairs = m.audits+float64(len(cr.Audit)+len(ps.Audit)), m.proposals+float64(len(ps.Calls)), m.pairs+float64(len(ps.Pairs))
	}
	return nil
}

// stage1 reads trajectories and levels.
func (m *measuring) stage1() error {
	for i := range m.p.FineTune.Demonstrations {
		t, _, err := runs.Run(m.p.Name).Trajectory(i).Read(m.ctx, m.b)
		if err == nil {
			m.trajectories += float64(len(t.Screens))
			if m.s.Synthesis.Agent == spec.RoleExpert {
				m.out.Steps.Expert = append(m.out.Steps.Expert, float64(len(t.Screens)))
			}
			continue
		}
		d, _, err2 := runs.Run(m.p.Name).Demonstration(i).Read(m.ctx, m.b)
		switch {
		case err2 == nil:
			m.out.Steps.Expert = append(m.out.Steps.Expert, float64(len(d.Pairs)))
		case !errors.Is(err, store.ErrNotFound):
			return err
		case !errors.Is(err2, store.ErrNotFound):
			return err2
		}
	}
	cards, err := cardsOf(m.ctx, m.b, m.p.Name)
	for _, c := range cards {
		m.asked[c.Level] = float64(c.Counts.Asked)
	}
	if err != nil {
		return err
	}
	m.roles()
	return nil
}

// call is what a role's recorded calls took.
type call struct {
	n             float64
	tokens, money estimate.Sample
}

// calls reads what the roles' recorded calls took.
func (m *measuring) calls() error {
	all, err := m.b.List(m.ctx, runs.Run(m.p.Name).CallsPrefix())
	if err != nil {
		return err
	}
	m.byRole = map[string]*call{}
	for _, r := range all {
		x, _, err := store.Read[runs.Answer](m.ctx, m.b, r.Key)
		if err != nil {
			return err
		}
		c := m.byRole[x.Role]
		if c == nil {
			c = &call{}
			m.byRole[x.Role] = c
		}
		c.n++
		c.tokens, c.money = append(c.tokens, float64(x.Usage.Prompt+x.Usage.Answer)), append(c.money, x.Cost)
	}
	return nil
}

// screens is the number of screens that a level of the run is written about.
func (m *measuring) screens(level int) float64 {
	limit := m.s.Synthesis.Screens
	if level == 3 {
		limit = m.s.Synthesis.Pairs
	}
	return min(m.trajectories*float64(m.s.FineTune.Demonstrations)/float64(m.p.FineTune.Demonstrations), float64(limit))
}

// roles scales the calls of every role to the run. Screens that a level is written about are bounded by the specification; so are those of the pilot, by less.
func (m *measuring) roles() {
	n, k := float64(m.s.FineTune.Demonstrations), float64(m.p.FineTune.Demonstrations)
	visited := m.trajectories * n / k
	slots := float64(m.p.Slots * m.p.Epochs)
	evalSteps := func(s spec.Spec) float64 { // of evaluations, at the length of the pilot's episodes
		if slots == 0 {
			return 0
		}
		return evaluations(s, chunks(s)) * m.steps / slots
	}
	perSlot := func(x float64) float64 {
		if slots == 0 {
			return 0
		}
		return x / slots * m.total()
	}
	units := map[string][2]float64{ // of the pilot and of the run
		prompts.Agent:        {k, n},
		prompts.Questions:    {m.asked[1], m.screens(1)},
		prompts.Instructions: {m.asked[2], m.screens(2)},
		prompts.Critic:       {m.audits + m.asked[3], perSlot(m.audits) + m.screens(3)},
		prompts.Adversary:    {m.proposals + m.asked[3], perSlot(m.proposals) + m.screens(3)},
		prompts.Summariser:   {m.trajectories + m.steps + evalSteps(m.p), visited + perSlot(m.steps) + evalSteps(m.s)},
	}
	for _, role := range prompts.Roles {
		if c := m.byRole[role]; c != nil {
			u := units[role]
			name := map[string]string{prompts.Agent: "UI agent of stage 1", prompts.Questions: "author of level 1", prompts.Instructions: "author of level 2"}[role]
			if name == "" {
				name = role
			}
			m.out.Roles = append(m.out.Roles, estimate.Role{Name: name, Calls: c.n, Units: u[0], Total: u[1], Tokens: c.tokens, Money: c.money, Steps: role != prompts.Questions && role != prompts.Instructions})
		}
	}
	if slots > 0 {
		perEpisode := m.cells / slots
		m.out.Roles = append(m.out.Roles, estimate.Role{Name: "policies, rollouts", Calls: m.cells, Units: slots, Total: m.total(), Tokens: m.tokens, Steps: true},
			estimate.Role{Name: "policies, evaluation", Calls: perEpisode, Units: 1, Total: evaluations(m.s, chunks(m.s)), Tokens: m.tokens, Steps: true})
	}
}

// times reads how long the pilot's phases took from the histories of its workflows.
func (m *measuring) times() error {
	run := m.p.Name
	phase := func(name, id string, units, low, total float64, steps bool, activity string) error {
		sec, err := m.busy(id, activity)
		if err != nil || sec == 0 {
			return err
		}
		m.out.Phases = append(m.out.Phases, estimate.Phase{Name: name, Seconds: sec, Units: units, Low: low, Total: total, Steps: steps})
		return nil
	}
	n, k := float64(m.s.FineTune.Demonstrations), float64(m.p.FineTune.Demonstrations)
	optimiser := func(s spec.Spec) (low, high float64) {
		for _, st := range s.FineTune.LevelJobs() {
			low += float64(st.Steps)
		}
		high = low
		if len(s.FineTune.Levels) == 0 && s.FineTune.Base == "" {
			low, high = float64(s.FineTune.ChunkSteps), float64(s.FineTune.ChunkSteps*s.FineTune.MaxChunks)
		}
		return low, high
	}
	_, made := optimiser(m.p)
	low, high := optimiser(m.s)
	errs := []error{phase("stage 1, demonstrations", run+"/finetune", k, n, n, false, "Demonstrate"), phase("stage 1, training", run+"/finetune", made, low, high, false, "TrainChunk")}
	for level := 1; level <= 3; level++ {
		id := fmt.Sprintf("%s/finetune/level-%d", run, level)
		total := m.screens(level)
		if m.asked[level] > 0 {
			errs = append(errs, phase(fmt.Sprintf("stage 1, exploration (level %d)", level), id, k, n, n, false, "Explore"), phase(fmt.Sprintf("stage 1, data of level %d", level), id, m.asked[level], total, total, false, "Synthesize"))
		}
	}
	if m.p.Epochs > 0 {
		all := m.total()
		errs = append(errs, phase("rollouts, credit, pairing", run+"/epoch/0001", float64(m.p.Slots), all, all, true, ""), phase("updates", run+"/epoch/0001", max(m.pairs, 1), m.pairs/float64(m.p.Slots)*all, m.pairs/float64(m.p.Slots)*all, true, "Update"))
	}
	val := float64(baseSystems(m.p) * m.p.Evaluation.Val)
	return errors.Join(append(errs, phase("evaluation", run+"/eval/0000-val", val, evaluations(m.s, 0), evaluations(m.s, chunks(m.s)), true, "Evaluate"))...)
}

// busy is the time in seconds from the first schedule of an activity to its last end; the name "" stands for the shards of an epoch.
func (m *measuring) busy(id, name string) (float64, error) {
	var from, to time.Time
	of := map[int64]bool{}
	note := func(at time.Time) {
		if from.IsZero() {
			from = at
		}
		to = at
	}
	h := m.t.GetWorkflowHistory(m.ctx, id, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for h.HasNext() {
		e, err := h.Next()
		if err != nil {
			if strings.Contains(err.Error(), "not found") {
				return 0, nil // the pilot has no such stage
			}
			return 0, fault.New(fault.Transient, "history of %s: %w", id, err)
		}
		at := e.EventTime.AsTime()
		if x := e.GetActivityTaskScheduledEventAttributes(); x != nil && x.ActivityType.Name == name {
			of[e.EventId] = true
			note(at)
		}
		if x := e.GetActivityTaskCompletedEventAttributes(); x != nil && of[x.ScheduledEventId] {
			note(at)
		}
		if x := e.GetStartChildWorkflowExecutionInitiatedEventAttributes(); x != nil && name == "" && x.WorkflowType.Name == "Shard" {
			note(at)
		}
		if x := e.GetChildWorkflowExecutionCompletedEventAttributes(); x != nil && name == "" && x.WorkflowType.Name == "Shard" {
			note(at)
		}
	}
	return to.Sub(from).Seconds(), nil
}
