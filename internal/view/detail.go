package view

import (
	"math"
	"slices"
	"strconv"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// detail is an episode as its page shows it. Numbers that a script could not hold are strings.
type detail struct {
	Slot        int                `json:"slot"`
	Template    string             `json:"template"`
	Split       string             `json:"split"`
	Seed        string             `json:"seed"` // of the task
	MaxSteps    int                `json:"max_steps"`
	Goal        string             `json:"goal"`
	State       string             `json:"state"`
	Attempt     int                `json:"attempt"`
	Void        []string           `json:"void,omitempty"` // why earlier attempts do not count
	Failed      string             `json:"failed,omitempty"`
	Replacement int                `json:"replacement,omitempty"`
	System      int                `json:"system"`
	Outcome     domain.Outcome     `json:"outcome"`
	Edges       [][2]int           `json:"edges"`
	ReadsBack   bool               `json:"reads_back,omitempty"` // from round 2 on also against the edges
	Agents      int                `json:"agents"`
	Rounds      int                `json:"rounds"`
	Scope       agents.VoteScope   `json:"vote_scope"` // which answers vote
	Critic      string             `json:"critic,omitempty"`
	Counts      *credit.PairCounts `json:"counts,omitempty"`
	Steps       []detailStep       `json:"steps"`
	End         *detailScreen      `json:"end,omitempty"` // after the last step
	Took        Took               `json:"took,omitzero"`
	Workflow    string             `json:"workflow,omitempty"` // the shard; reports link to none
}

// detailScreen is a screen.
type detailScreen struct {
	Screen domain.Observation `json:"screen"`
	Image  string             `json:"image,omitempty"` // digest of the screenshot

	touch *domain.Touch // where the action that led to the screen touched the screen before it
}

// detailStep is a step with its decision, labels and pairs. Action is the executed action.
type detailStep struct {
	detailScreen
	History []string       `json:"history,omitempty"`
	Cells   []detailCell   `json:"cells"`
	Seen    [][]int        `json:"seen,omitempty"`
	Divided bool           `json:"divided,omitempty"` // agents saw different elements
	Action  detailAction   `json:"action"`
	Vote    domain.Vote    `json:"vote"`                   // the deciding vote
	Silent  bool           `json:"nobody_acted,omitempty"` // all answers are speech, and nothing was executed
	Right   []detailAction `json:"right,omitempty"`        // the actions that the judge considers right
	Audit   *detailAudit   `json:"audit,omitempty"`
	Pairs   []detailPair   `json:"pairs,omitempty"`

	Messages []Message    `json:"messages,omitempty"` // whose effects are known
	Asked    []detailCall `json:"asked,omitempty"`    // calls of the adversary
}

// detailCell is a cell with its label: 1, 0 or -1 for uncertain, or nil if it has no label.
type detailCell struct {
	domain.Cell
	Action *detailAction `json:"action,omitempty"`
	Label  *domain.Label `json:"label,omitempty"`
	Judge  *domain.Label `json:"judge,omitempty"` // the environment's label of an action, if it knows
	Grade  *credit.Score `json:"grade,omitempty"`
	Again  *credit.Score `json:"again,omitempty"` // the critic's grade when it saw the cell among candidates
}

// detailAction is an action in a form for people. On is the element that it names, Touch the place where it touched the
// screen, if recorded, and Direction the direction of a scroll or a swipe.
type detailAction struct {
	Type      string        `json:"type"`
	Words     string        `json:"words"`
	Canonical string        `json:"canonical"`
	On        *int          `json:"on,omitempty"`
	Touch     *domain.Touch `json:"touch,omitempty"`
	Direction string        `json:"direction,omitempty"`
	Speech    string        `json:"speech,omitempty"` // the verb with which Words begin, if it is an act of speech
}

// detailAudit describes how the labels of a step were made. Blinded cells were graded again among the candidates, and
// Again of them were labelled 1 again.
type detailAudit struct {
	Means   map[string]float64   `json:"means,omitempty"`
	Spread  float64              `json:"spread"`
	Repairs int                  `json:"repairs"`
	Faults  []credit.CriticFault `json:"faults,omitempty"`
	Blinded int                  `json:"blinded,omitempty"`
	Again   int                  `json:"again,omitempty"`

	Cost      *cost `json:"cost,omitempty"`       // of the step's labels
	CostAgain *cost `json:"cost_again,omitempty"` // of the labels of the adversary's answers
}

// detailPair is a pair or a sample without the fields that its cell has.
type detailPair struct {
	Agent     int           `json:"agent"`
	Round     int           `json:"round"`
	Chosen    string        `json:"chosen"`
	Rejected  string        `json:"rejected,omitempty"`
	Source    domain.Source `json:"source"`
	Weight    float64       `json:"weight"`
	Advantage float64       `json:"advantage,omitempty"`
}

// detail returns the episode as its page shows it.
func (e Episode) detail() detail {
	x := e.Episode
	task := e.Episode.Slot.Task
	d := detail{
		Slot: x.Slot.Number, Template: task.Template, Split: task.Split, Seed: strconv.FormatUint(task.Seed, 10),
		MaxSteps: task.MaxSteps, Goal: x.Goal, State: e.state(), Attempt: x.Attempt, Failed: x.Failed,
		Replacement: x.Slot.Replacement, Void: e.Void, System: x.System, Outcome: x.Outcome, Edges: e.Topology.Edges,
		Agents: e.Topology.Agents, Rounds: e.Rounds, ReadsBack: e.ReadsBack(), Scope: e.Scope, Steps: []detailStep{},
	}
	if e.Credits != nil {
		d.Critic = e.Credits.Critic
	}
	if e.Pairs != nil {
		d.Counts = &e.Pairs.Counts
	}
	for i := range e.Steps {
		d.Steps = append(d.Steps, e.step(i))
	}
	d.End = endOf(x.End)
	d.touches()

	return d
}

// touches sets the place where each executed action touched the screen, from the record of the next screen.
func (d *detail) touches() {
	for i := range d.Steps {
		next := d.End
		if i+1 < len(d.Steps) {
			next = &d.Steps[i+1].detailScreen
		}
		if next != nil {
			d.Steps[i].Action.Touch = next.touch
		}
	}
}

// endOf returns the screen after the last step, or nil if it is not recorded.
func endOf(screen *runs.Screen) *detailScreen {
	if screen == nil {
		return nil
	}
	x := screenOf(screen.Observation, screen.Image, screen.Touch)

	return &x
}

func screenOf(observation domain.Observation, image *store.Ref, touch *domain.Touch) detailScreen {
	screen := detailScreen{Screen: observation, touch: touch}
	if image != nil {
		screen.Image = image.SHA256
	}

	return screen
}

// States of an episode.
const (
	stateOpen   = "open"
	stateFailed = "failed"
	stateSolved = "solved"
	stateNot    = "not solved"
)

func (e Episode) state() string {
	switch {
	case e.Open:
		return stateOpen
	case e.Episode.Failed != "":
		return stateFailed
	case e.Episode.Outcome.Success:
		return stateSolved
	}

	return stateNot
}

func (e Episode) step(i int) detailStep {
	s := e.Steps[i]
	d := detailStep{
		detailScreen: screenOf(s.Observation, s.Image, s.Touch), History: s.History, Seen: s.Decision.Seen,
		Vote:   e.Scope.Winner(s.Decision),
		Action: actionOf(s.Decision.Executed, s.Observation), Cells: []detailCell{},
		Divided: s.Decision.Divided(),
	}
	if s.Decision.OnlySpeech() {
		d.Silent = true
		d.Action = nobodyActed
	}
	judge := credit.Oracle(s.Step).Labels
	for j, c := range s.Decision.Cells {
		c.LogProb = math.Round(c.LogProb*1e3) / 1e3 // further digits do not compress
		cell := detailCell{Cell: c}
		if c.Action != nil {
			action := actionOf(*c.Action, s.Observation)
			cell.Action = &action
		}
		if label, ok := e.Label(i, j); ok && c.Prompt != "" {
			cell.Label = &label
		}
		speaks := c.Action != nil && c.Action.Speech() // the judge only knows actions
		if c.Prompt != "" && !speaks && judge[j] != domain.Uncertain {
			cell.Judge = &judge[j]
		}
		d.Cells = append(d.Cells, cell)
	}
	for _, a := range s.Right {
		d.Right = append(d.Right, actionOf(a, s.Observation))
	}
	e.addAudit(i, &d)
	e.addPairs(i, &d)
	d.Messages = e.Messages(i)

	return d
}

// addAudit adds the known facts about the grades of a step.
func (e Episode) addAudit(i int, step *detailStep) {
	if e.Credits == nil || i >= len(e.Credits.Audit) {
		return
	}
	a := e.Credits.Audit[i]
	price := e.priceOfCritic(a.Usage)
	step.Audit = &detailAudit{Means: a.Means, Spread: a.Spread, Repairs: a.Repairs, Faults: a.Faults, Cost: &price}
	for j := range step.Cells {
		if k := slices.IndexFunc(a.Grades, func(score credit.Score) bool {
			return score.Agent == step.Cells[j].Agent && score.Round == step.Cells[j].Round
		}); k >= 0 {
			step.Cells[j].Grade = &a.Grades[k]
		}
	}
}

// nobodyActed is shown as the executed action if the agents only spoke.
var nobodyActed = detailAction{Words: "nobody acted"}

// actionOf returns an action in a form for people.
func actionOf(a domain.Action, observation domain.Observation) detailAction {
	d := detailAction{Type: a.Type, Words: agents.ActionInWords(a, observation), Canonical: a.Canonical(observation)}
	d.Speech = agents.Verb(a)
	if a.Type == domain.ActionScroll || a.Type == domain.ActionSwipe || a.Type == domain.ActionScrollPage {
		d.Direction = a.Direction
	}
	if on, ok := a.Named(observation); ok {
		d.On = &on.Index
	}

	return d
}
