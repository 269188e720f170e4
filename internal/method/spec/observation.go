package spec

import (
	"slices"

	"github.com/collabui/collabui/internal/method/agents"
)

// Bounds of observation.pixels. A vision model of the Qwen family sees at least 56 × 56 pixels.
const (
	minPixels = 56 * 56
	maxPixels = 16 << 20
)

// checkObservation checks that everything that has to see the pictures of a run can see them. Nothing is shown the text
// alone in silence.
func (s Spec) checkObservation(catalog Catalog, must Must) {
	shown := s.Observation
	oneOf(must, shown.Kind, "observation.kind", agents.AsText, agents.AsImage, agents.AsBoth)
	must.count(shown.Pixels, "observation.pixels", minPixels, maxPixels)
	must(!shown.Marks || shown.Pictured(), "observation.marks",
		"false with observation.kind: text, which has no picture to mark")
	must(shown.Kind != agents.AsImage || shown.Marks, "observation.marks",
		"true with observation.kind: image, because actions name elements and nothing else shows their names")
	if !shown.Pictured() {
		return
	}

	rules, _ := catalog.Trainer(s.Trainer.Name)
	must(rules.Pictures, "observation.kind", "text: the trainer %s cannot train on pictures (llamafactory can, with a "+
		"vision model)", s.Trainer.Name)
	s.checkPictured(catalog, s.Environment, "environment", must)
	for i, elsewhere := range s.Evaluation.OutOfDistribution {
		s.checkPictured(catalog, elsewhere.Environment, elsewhereField(i)+".environment", must)
	}
	for _, role := range s.seats() {
		model, ok := s.Models[role.player]
		must(!ok || model.Images, role.field, "a model with images: true, not %q: agents see pictures "+
			"(observation.kind: %s), and the %s has to see them, too", role.player, shown.Kind, role.part)
	}
}

// checkPictured refuses an environment without screenshots.
func (s Spec) checkPictured(catalog Catalog, name, field string, must Must) {
	must(!slices.Contains(catalog.EnvironmentNames(), s.Where(name).Suite) || !s.Recorded(catalog, name), field,
		"an environment with screenshots, since agents see pictures (observation.kind: %s): %s has recorded pages "+
			"without them", s.Observation.Kind, name)
}

// seat is a role of the method that sees screens, and its player.
type seat struct {
	player Role
	field  string
	part   string
}

// seats returns the roles that see the screens of the run.
func (s Spec) seats() []seat {
	out := []seat{{s.Summariser.Model, "summariser.model", "summariser"}}
	if s.Credit == CreditCritic {
		out = append(out, seat{s.Critic.Model, "critic.model", "critic"})
		if !s.Clones() {
			out = append(out, seat{s.Adversary.Model, "adversary.model", "adversary"})
		}
	}
	if len(s.FineTune.Levels) > 0 {
		out = append(out, seat{s.Synthesis.Agent, "synthesis.agent", "UI agent"},
			seat{s.Synthesis.Author, "synthesis.author", "author"})
	}

	return out
}
