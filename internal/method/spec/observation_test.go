package spec_test

import (
	"testing"

	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/spec"
)

// seeing is a file whose agents see pictures.
const seeing = `name: a
trainer: {name: llamafactory, options: {model: /m}}
actions: web
models: {blind: {base_url: "http://h/v1", model: m}, eyes: {base_url: "http://h/v1", model: m, images: true}}
observation: {kind: both}
`

func TestWhatCannotSeePicturesIsRefused(t *testing.T) {
	mistakes{
		"critic: {model: blind}\n":     `critic.model: expected a model with images: true, not "blind"`,
		"adversary: {model: blind}\n":  `adversary.model: expected a model with images: true, not "blind"`,
		"summariser: {model: blind}\n": `summariser.model: expected a model with images: true, not "blind"`,
		"finetune: {levels: [1]}\nsynthesis: {author: blind}\n": `synthesis.author: expected a model with images: ` +
			`true, not "blind"`,
		"finetune: {levels: [2]}\nsynthesis: {agent: blind}\n": `synthesis.agent: expected a model with images: true`,
		"environment: mind2web\nenvironments: {mind2web: {data: /d}}\n": `environment: expected an environment with ` +
			`screenshots`,
	}.check(t, seeing)
	mistakes{
		"observation: {kind: both}\n": `observation.kind: expected text: the trainer tiny cannot train on pictures`,
		"observation: {kind: image, marks: true}\ntrainer: {name: trl, options: {model: /m}}\n": `observation.kind: ` +
			`expected text: the trainer trl cannot train on pictures`,
		"observation: {kind: image}\n":  `observation.marks: expected true with observation.kind: image`,
		"observation: {marks: true}\n":  `observation.marks: expected false with observation.kind: text`,
		"observation: {kind: video}\n":  `observation.kind: expected one of text, image, both, not "video"`,
		"observation: {pixels: 3135}\n": `observation.pixels: expected a whole number from 3136 to 16777216, not 3135`,
	}.check(t, "name: a\n")
}

func TestEveryRoleThatSeesMayBeAModelWithEyes(t *testing.T) {
	got := parse(t, seeing+"critic: {model: eyes}\nadversary: {model: eyes}\nsummariser: {model: eyes}\n")
	if want := (agents.Presentation{Kind: agents.AsBoth, Pixels: 262144}); got.Observation != want {
		t.Errorf("observation = %+v, want %+v", got.Observation, want)
	}
	effect, changeable := got.EffectOf("observation.pixels")
	if want := (spec.Effect{First: spec.StepRollout, Plays: true}); !changeable || effect != want {
		t.Errorf("EffectOf(observation.pixels) = %+v, %v; want %+v", effect, changeable, want)
	}
}
