package play

import (
	"context"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/episode"
	"github.com/collabui/collabui/internal/method/prompts"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/policy/endpoints"
)

// Summariser returns how a step's line of the history is written: nil, for fixed rules, or by a model, whose calls
// derive their seeds from seed.
func Summariser(
	e *endpoints.Endpoints, specification spec.Spec, seed uint64,
) func(context.Context, episode.Executed) (string, error) {
	if specification.Summariser.Model == spec.RoleTemplate {
		return nil
	}

	return func(ctx context.Context, turn episode.Executed) (string, error) {
		model, prompt, err := e.For(specification, specification.Summariser.Model, prompts.Summariser)
		if err != nil {
			return "", err
		}
		happened := agents.ExecutedStep{
			Step: turn.Number, Goal: turn.Goal, Before: turn.Observation, After: turn.After, Invalid: turn.Invalid,
			Limits: specification.Prompt, Notes: specification.Summariser.Notes == spec.NotesSummariser,
			Line:     specification.Prompt.Summarise(turn.Number, turn.Action, turn.Observation, turn.Invalid),
			Pictures: append(turn.Pictures.Whole.Images(), turn.AfterPictures.Whole.Images()...),
		}

		return agents.ModelSummary(ctx, model, prompt, happened, domain.Seed(seed, "summary", turn.Number))
	}
}
