package episode

import (
	"context"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/baselines"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
)

// Evaluation plays a system on a split. Tasks, topologies and the seeds of calls derive from (evaluation seed, suite,
// split, episode), never from a run's or a system's name, so that systems are compared on the same episodes.
type Evaluation struct {
	Spec   spec.Spec
	System rules.EvalSystem
	Split  string
	Model  chat.Model // answers for the policies

	// Recorded says that the split's tasks are recorded.
	Recorded bool

	// Over returns how much of a prompt is too much for the embedded policy.
	Over func(prompt string) int

	// Summarise returns the line that a step adds to the history; nil means agents.Summarise.
	Summarise func(ctx context.Context, e Executed) (string, error)

	// Heard returns what agents read at a step instead of what an agent said in a round; nil means what it said.
	Heard func(step, agent, round int) string

	// Decided, if it is not nil, is called with every decision before it is executed.
	Decided func(ctx context.Context, t Turn, c agents.Config, d domain.Decision) error
}

// Player returns how episode i is played in an environment, and the number of its topology.
func (v Evaluation) Player(env envadapters.Environment, i int) (Player, int, error) {
	player := Player{Summarise: v.Summarise}
	if v.System.IsReference() {
		player.Decide = func(context.Context, Turn) (domain.Action, error) { return refer(v.System, env), nil }
		return player, 0, nil
	}

	if v.System.Style != "" {
		return v.only(player, env, i)
	}
	conf, topology, err := v.System.Config(v.Spec, v.Split, uint64(i))
	conf.Template = rules.Bound(v.Spec, conf.Template, v.Over)
	calls := rules.EvalCalls(v.Spec, v.Split, i)
	player.Decide = func(ctx context.Context, turn Turn) (domain.Action, error) {
		if v.Heard != nil {
			conf.Heard = func(agent, round int) string { return v.Heard(turn.Number, agent, round) }
		}
		decision, err := agents.Decide(ctx, v.Model, conf, turn.View(), domain.Seed(calls, turn.Number))
		if err == nil && v.Decided != nil {
			err = v.Decided(ctx, turn, conf, decision)
		}

		return decision.Executed, err
	}

	return player, topology, err
}

// only returns how an agent of the literature plays episode i alone. The player keeps the plain history; what the agent
// makes of it is its own.
func (v Evaluation) only(player Player, env envadapters.Environment, i int) (Player, int, error) {
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
		agent.MaxTokens = 0 // as many as its endpoint allows
		if v.Spec.Models[spec.Role(v.System.Model)].Images && baselines.Looks(v.System.Style) {
			agent.Screen = screen(env)
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

// screen returns how screenshots of an environment are taken.
func screen(env envadapters.Environment) func(context.Context) ([]byte, error) {
	return func(ctx context.Context) ([]byte, error) {
		if screenshotter := envadapters.Can(env).Screenshotter; screenshotter != nil {
			return envadapters.Take(ctx, screenshotter)
		}

		return nil, fault.New(fault.Invalid, "the environment shows no screenshots, which this system reads: "+
			"leave it out there, or say images: false of its model if it can do without")
	}
}

// Family is the action family that the system speaks in a suite: references speak the suite's own.
func (v Evaluation) Family(suite envadapters.Suite) domain.Family {
	if v.System.IsReference() {
		return suite.Family()
	}

	return v.Spec.Family()
}

// refer returns what a reference does now. One that knows no action does nothing.
func refer(system rules.EvalSystem, env envadapters.Environment) domain.Action {
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
