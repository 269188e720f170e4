package infer

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
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
	Screenshots string // folder, which is created; "": none
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
	Shown       int             `json:"shown,omitempty"`    // elements that the agents see
	Matrix      []Asked         `json:"matrix,omitempty"`   // cells by agent, then round
	Vote        *domain.Vote    `json:"vote,omitempty"`
	Executed    *domain.Action  `json:"executed,omitempty"`
	Invalid     string          `json:"invalid,omitempty"` // why nothing was executed
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
	Problem   string `json:"problem,omitempty"` // why the answer is not an action
	Agrees    bool   `json:"agrees"`            // the cell agrees with the vote
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
	if l.Screenshots != "" {
		if err := os.MkdirAll(l.Screenshots, 0o755); err != nil {
			return fault.New(fault.Invalid, "screenshots: %w", err)
		}
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
		return t, fault.New(fault.Invalid, "split %s of %s has no template %q: `collabui envs list` shows them",
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

	v := episode.Evaluation{Spec: s.Spec, System: s.evaluated(), Split: l.Split, Model: model, Over: tinylm.Over}
	cut := 0
	var now Event // the current step
	v.Decided = func(ctx context.Context, t episode.Turn, c agents.Config, d domain.Decision) error {
		cut += d.Cut()
		win := c.VoteScope.Winner(d)
		now = Event{
			Event: "step", Episode: i, Step: t.Number, Elements: len(t.Observation.Elements),
			Shown:  len(agents.Lines(t.Observation)),
			Matrix: Short(d, c.Rounds, []domain.Vote{win}), Vote: &win, Executed: &d.Executed,
		}
		var err error
		now.Screenshot, err = l.screenshot(ctx, env, i, t.Number)

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
	played.Outcome.Cut = cut
	end := Event{Event: "end", Episode: i, Outcome: &played.Outcome, Raw: &played.Raw}
	if end.Screenshot, err = l.screenshot(ctx, env, i, played.Outcome.Steps+1); err != nil {
		return err
	}

	return tell(end)
}

// Short returns a matrix without its texts. votes are those for its actions, the winner first.
func Short(d domain.Decision, rounds int, votes []domain.Vote) []Asked {
	var out []Asked
	for k, c := range d.Cells {
		out = append(out, Asked{
			Agent: k / rounds, Round: k % rounds, Asked: c.Prompt != "", Canonical: c.Canonical, Problem: c.ParseError,
			Agrees: c.Action != nil && len(votes) > 0 && c.Canonical == votes[0].Canonical,
		})
	}

	return out
}

// screenshot writes the screen on which step n is decided, and returns the name of its file. It is invalid to ask for
// the screenshots of an environment that has none.
func (l Live) screenshot(ctx context.Context, env envadapters.Environment, i, n int) (string, error) {
	if l.Screenshots == "" {
		return "", nil
	}
	can := envadapters.Can(env)
	if can.Screenshotter == nil {
		return "", fault.New(fault.Invalid, "%s has no screenshots: leave out --screenshots", l.Suite.Name())
	}

	png, err := can.Screenshotter.Screenshot(ctx)
	if err != nil {
		return "", err
	}
	file := filepath.Join(l.Screenshots, fmt.Sprintf("episode-%02d-step-%02d.png", i, n))
	if err := os.WriteFile(file, png, 0o644); err != nil {
		return "", fault.New(fault.Invalid, "screenshots: %w", err)
	}

	return file, nil
}
