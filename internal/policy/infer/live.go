package infer

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/episode"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/policy/tinylm"
)

// Live says which episodes are played.
type Live struct {
	Suite       envadapters.Suite
	Split       string
	Template    string // template of all episodes; "": the split's templates take turns
	First       int    // number of the first episode, from 0
	Episodes    int
	Screenshots string // folder for the screens of every step; it is created; "": none
}

// Event is one event of a live episode: its start, a step, or its end.
type Event struct {
	Event       string          `json:"event"`   // episode, step or end
	Episode     int             `json:"episode"` // number of the episode, from 0
	Environment string          `json:"environment,omitempty"`
	Task        *domain.Task    `json:"task,omitempty"`
	Goal        string          `json:"goal,omitempty"`
	Step        int             `json:"step,omitempty"`     // from 1
	Elements    int             `json:"elements,omitempty"` // elements of the observation
	Screen      []string        `json:"screen,omitempty"`   // the elements that agents see, a line each
	Matrix      []Asked         `json:"matrix,omitempty"`   // cells by agent, then round
	Vote        *domain.Vote    `json:"vote,omitempty"`
	Executed    *domain.Action  `json:"executed,omitempty"`
	InWords     string          `json:"in_words,omitempty"` // what was executed, with the text of its element
	Invalid     string          `json:"invalid,omitempty"`  // why nothing was executed
	Screenshot  string          `json:"screenshot,omitempty"`
	Outcome     *domain.Outcome `json:"outcome,omitempty"`
	Raw         *float64        `json:"raw_score,omitempty"` // the environment's own figure
}

// Asked is one cell of the matrix in short.
type Asked struct {
	Agent     int    `json:"agent"`
	Round     int    `json:"round"`
	Asked     bool   `json:"asked"` // false: the cell could no longer change the vote
	Canonical string `json:"canonical,omitempty"`
	InWords   string `json:"in_words,omitempty"` // the action with the text of its element
	Problem   string `json:"problem,omitempty"`  // why the answer is not an action
	Agrees    bool   `json:"agrees"`             // the cell agrees with the vote
}

// Play plays episodes one after the other and reports every event. Tasks, topologies and calls of episode i are those
// of the evaluation's episode i on the split, so the system does what it did there; with a template, all but the
// template are. History lines come from the template summariser. A fault ends the play.
func (s System) Play(ctx context.Context, model chat.Model, l Live, tell func(Event) error) error {
	if l.First < 0 || l.Episodes < 1 {
		return fault.New(fault.Invalid, "expected a first episode from 0, and at least one")
	}
	if splits := l.Suite.Splits(); !slices.Contains(splits, l.Split) {
		return fault.New(fault.Invalid, "%s has no split %q: it has %s",
			l.Suite.Name(), l.Split, strings.Join(splits, ", "))
	}
	for i := l.First; i < l.First+l.Episodes; i++ {
		task, err := s.task(l, i)
		if err != nil {
			return err
		}
		if err := s.episode(ctx, model, l, i, task, tell); err != nil {
			return fmt.Errorf("episode %d: %w", i, err)
		}
	}

	return nil
}

// task returns the task of an episode.
func (s System) task(l Live, i int) (domain.Task, error) {
	t, err := rules.EvalTask(s.Spec, l.Suite, l.Split, i)
	if err != nil || l.Template == "" {
		return t, err
	}

	templates, err := l.Suite.Templates(l.Split)
	if err != nil {
		return t, err
	}
	at := slices.IndexFunc(templates, func(x envadapters.Template) bool { return x.Name == l.Template })
	if at < 0 {
		return t, fault.New(fault.Invalid, "split %s of %s has no template %q: `collabui envs list --json` has them",
			l.Split, l.Suite.Name(), l.Template)
	}
	t.Template, t.MaxSteps = templates[at].Name, templates[at].MaxSteps

	return t, nil
}

// episode plays episode i as evaluation does, and reports every event.
func (s System) episode(
	ctx context.Context, model chat.Model, l Live, i int, task domain.Task, tell func(Event) error,
) error {
	opened, err := l.Suite.Open(ctx)
	if err != nil {
		return err
	}
	defer opened.Close(context.WithoutCancel(ctx))
	env := envadapters.Speaking(opened, l.Suite.Family(), s.Spec.Family())

	film, err := l.film(env, i)
	if err != nil {
		return err
	}

	v := episode.Evaluation{Spec: s.Spec, System: s.evaluated(), Split: l.Split, Model: model, Over: tinylm.Over}
	cut, repaired := 0, 0
	var now Event // the current step
	v.Decided = func(ctx context.Context, t episode.Turn, c agents.Config, d domain.Decision) error {
		cut += d.Cut()
		repaired += d.Repaired()
		win := c.VoteScope.Winner(d)
		now = Event{
			Event: "step", Episode: i, Step: t.Number,
			Elements: len(t.Observation.Elements), Screen: agents.Lines(t.Observation),
			Matrix: Short(d, t.Observation, c.Rounds, []domain.Vote{win}), Vote: &win,
			Executed: &d.Executed, InWords: agents.ActionInWords(d.Executed, t.Observation),
		}
		var err error
		now.Screenshot, err = film.shoot(ctx, t.Number)

		return err
	}
	player, _, err := v.Player(env, i)
	if err != nil {
		return err
	}
	player.Begin = func(_ context.Context, tr envadapters.Transition) error {
		return tell(Event{Event: "episode", Episode: i, Environment: l.Suite.Title(), Task: &task, Goal: tr.Goal})
	}
	player.After = func(_ context.Context, e episode.Executed) error {
		now.Invalid = e.Invalid

		return tell(now)
	}

	played, err := player.Play(ctx, env, task)
	if err != nil {
		return err
	}
	played.Outcome.Cut, played.Outcome.Repaired = cut, repaired
	end := Event{Event: "end", Episode: i, Outcome: &played.Outcome, Raw: &played.Raw}
	if end.Screenshot, err = film.shoot(ctx, played.Outcome.Steps+1); err != nil {
		return err
	}

	return tell(end)
}

// Ending says how the episode ended, in the event of its end.
func (e Event) Ending() string {
	how := "not solved"
	if e.Outcome.Success {
		how = "solved"
	}
	if e.Outcome.Truncated {
		how += ", out of steps"
	}

	return how
}

// Short returns a matrix without its texts. votes are those for its actions, the winner first.
func Short(d domain.Decision, o domain.Observation, rounds int, votes []domain.Vote) []Asked {
	var out []Asked
	for k, c := range d.Cells {
		out = append(out, Asked{
			Agent: k / rounds, Round: k % rounds, Asked: c.Prompt != "",
			Canonical: c.Canonical, InWords: agents.CellInWords(c, o), Problem: c.ParseError,
			Agrees: c.Action != nil && len(votes) > 0 && c.Canonical == votes[0].Canonical,
		})
	}

	return out
}
