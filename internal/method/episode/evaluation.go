package episode

import (
	"context"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/baselines"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/picture"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
)

// Evaluation plays a system on a split. Tasks, topologies and the seeds of calls are derived from (evaluation seed,
// suite, split, episode), never from the name of a run or a system, so all systems are compared on the same episodes.
type Evaluation struct {
	Spec   spec.Spec
	System rules.EvalSystem
	Split  string
	Model  chat.Model // answers for the policies

	// Recorded reports whether the split's tasks are recorded.
	Recorded bool

	// Over returns by how much a prompt is too long for the embedded policy, or 0.
	Over func(prompt string) int

	// Summarise returns the line that a step adds to the history. If it is nil, fixed rules are used.
	Summarise func(ctx context.Context, e Executed) (string, error)

	// Heard returns the message that peers read at a step in place of a cell's text. If it is nil, they read the text.
	Heard func(step int, cell domain.Cell) string

	// Camera takes the pictures of the environment in which Player plays. If it is nil, systems see text only.
	Camera Camera

	// Decided is called with every decision before it is executed. It may be nil.
	Decided func(ctx context.Context, t Turn, c agents.Config, d domain.Decision) error
}

// Player returns the player of episode i in an environment, and the number of the episode's topology.
func (v Evaluation) Player(env envadapters.Environment, i int) (Player, int, error) {
	player := Player{Limits: v.Spec.Prompt, Summarise: v.Summarise}
	if v.System.IsReference() {
		player.Decide = func(context.Context, Turn) (domain.Action, error) {
			return referenceAction(v.System, env), nil
		}
		return player, 0, nil
	}

	if v.System.Style != "" {
		return v.soloPlayer(player, i)
	}
	conf, topology, err := v.System.Config(v.Spec, v.Split, uint64(i))
	conf.Template = rules.Bound(v.Spec, conf.Template, v.Over)
	calls := rules.EvalCalls(v.Spec, v.Split, i)
	note := ""
	player.Note = func() string { return note }
	if v.Camera != nil {
		player.Look = func(ctx context.Context, screen domain.Observation) (picture.Pictures, error) {
			return v.Camera.Look(ctx, screen, conf)
		}
	}
	player.Decide = func(ctx context.Context, turn Turn) (domain.Action, error) {
		if v.Heard != nil {
			conf.Heard = func(cell domain.Cell) string { return v.Heard(turn.Number, cell) }
		}
		decision, err := agents.Decide(ctx, v.Model, conf, turn.View(), domain.Seed(calls, turn.Number))
		note = conf.Note(decision)
		if err == nil && v.Decided != nil {
			err = v.Decided(ctx, turn, conf, decision)
		}

		return decision.Executed, err
	}

	return player, topology, err
}

// soloPlayer returns the player of episode i for an agent of the literature, which decides alone. The player keeps the
// plain history, and the agent its own version of it.
func (v Evaluation) soloPlayer(player Player, i int) (Player, int, error) {
	prompt, err := rules.Prompt(v.Spec, v.System.Style)
	if err != nil {
		return player, 0, err
	}
	agent := &baselines.Agent{
		Style: v.System.Style, Prompt: prompt, Family: v.Spec.Family(), Model: v.Model, Policy: v.System.Policies[0],
		Temperature: v.System.Temperature[0], TopP: v.System.TopP, MaxTokens: v.Spec.Decoding.MaxTokens,
		Answers: v.Spec.Answers, Recorded: v.Recorded,
	}
	if v.System.Model != "" {
		agent.MaxTokens = 0 // the limit of its endpoint applies
	}
	if v.Camera != nil && baselines.Looks(v.System.Style) && v.System.Sees(v.Spec) {
		agent.Screen = func(ctx context.Context, screen domain.Observation) ([]chat.Image, error) {
			return v.Camera.Solo(ctx, screen, baselines.Marks(v.System.Style), v.System.Model == "")
		}
	}
	calls := rules.EvalCalls(v.Spec, v.Split, i)
	player.Summarise = nil
	player.Decide = func(ctx context.Context, turn Turn) (domain.Action, error) {
		decision, err := agent.Decide(ctx, turn.Number, turn.View(), domain.Seed(calls, turn.Number))
		if err == nil && v.Decided != nil {
			err = v.Decided(ctx, turn, agents.Config{}, decision)
		}

		return decision.Executed, err
	}

	return player, 0, nil
}

// Family returns the action family that the system speaks in a suite. References speak the suite's own.
func (v Evaluation) Family(suite envadapters.Suite) domain.Family {
	if v.System.IsReference() {
		return suite.Family()
	}

	return v.Spec.Family()
}

// referenceAction returns the current action of a reference. If its expert knows no action, the reference does nothing.
func referenceAction(system rules.EvalSystem, env envadapters.Environment) domain.Action {
	if system.Always != nil {
		return *system.Always
	}
	if expert := envadapters.Can(env).Expert; expert != nil {
		if action, ok := expert.Advise(); ok {
			return action
		}
	}

	return domain.Action{Type: domain.ActionNone}
}
