package preflight

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/policy/endpoints"
)

// checkLength notes where an agent's prompt of a screen is too long: for the limits of prompts, and for the servers of
// policies and of models that see screens, as far as their windows are known. If quiet, it calls no server of a model.
func (r *Rollouts) checkLength(ctx context.Context, given spec.Spec, view agents.View, quiet bool, o *obstacles) {
	if given.Embedded() && len(given.Models) == 0 {
		return // the embedded policy's prompts are cut to what it reads
	}
	template, err := rules.Template(given)
	if err != nil {
		return // the control worker reports it
	}
	user, err := template.User(view, "", nil)
	if err != nil {
		return
	}
	tokens := (len(template.System())+len(user))/chat.CharsPerToken + given.Observation.Tokens()

	if !given.Embedded() {
		cut, left, err := rules.Bound(given, template, nil).Fit(view, "", nil)
		if err != nil {
			return
		}
		if left.Any() {
			*o = append(*o, Obstacle{Where: "prompt", Warning: true, Why: fmt.Sprintf(
				"the prompt of the first screen, of about %d tokens, is cut: it lacks %s. Raise the limits, as far as "+
					"the trainer's cutoff and the devices' memory allow", tokens, left)})
		}
		window := endpoints.Window(ctx, r.Policies, "")
		cutTokens := (len(template.System()) + len(cut)) / chat.CharsPerToken
		o.add(ctx, "serving", checkWindow(cutTokens, given.Decoding.MaxTokens, window))
	}
	if quiet {
		return
	}
	for _, role := range slices.Sorted(maps.Keys(given.Models)) {
		model := given.Models[role]
		if role != given.Synthesis.Author { // an author sees no screen
			window := r.Endpoints.Window(ctx, model)
			o.add(ctx, "models."+string(role), checkWindow(tokens, model.MaxTokens, window))
		}
	}
}

// checkWindow returns an invalid fault if a server's window, unless it is 0, has no room for a prompt and its answer.
func checkWindow(tokens, answer, window int) error {
	if window == 0 || tokens+answer <= window {
		return nil
	}

	return fault.New(fault.Invalid, "the prompt of the first screen has about %d tokens and an answer may have %d, "+
		"and the server takes %d in all: start it with a longer context (vLLM: --max-model-len), or set a lower "+
		"max_tokens", tokens, answer, window)
}
