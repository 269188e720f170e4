package spec

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/collabui/collabui/domain"
)

// Trainer specifies what updates the policies. Train and FineTune hold the rates, batches and passes.
type Trainer struct {
	Name string `json:"name"`
	// Options are the trainer's own options with all defaults filled in. docs/specification.md lists them.
	Options json.RawMessage `json:"options,omitempty"`
}

// Embedded is the name of the embedded policy's trainer.
const Embedded = "tiny"

// Embedded reports whether the run trains the embedded policy, which has its own wording.
func (s Spec) Embedded() bool { return s.Trainer.Name == Embedded }

// Serving specifies when a system counts as served.
type Serving struct {
	// Quorum is the number of policy servers that must have the new policies before an epoch continues. 0 means all.
	Quorum int `json:"quorum"`
	// Canaries is the number of rows on which trainer and servers are compared whenever a policy is published, and the
	// number of an agent's rollout answers that the trainer scores again. 0 turns both off.
	Canaries int `json:"canaries"`
	// MaxGap is the highest mean difference between log π of trainer and server that is no fault, in nats per token. 0
	// means the limit of the trainer's precision.
	MaxGap float64 `json:"max_gap"`
}

// checkTrainer checks the trainer, serving, and what depends on the kind of policy.
func (s Spec) checkTrainer(catalog Catalog, must Must) {
	must(s.Serving.Quorum >= 0 && s.Serving.Quorum <= 1000, "serving.quorum",
		"a whole number from 0 (all servers) to 1000, not %d", s.Serving.Quorum)
	must.count(s.Serving.Canaries, "serving.canaries", 0, 1000)
	must.within(s.Serving.MaxGap, "serving.max_gap", 0, 100)

	rules, ok := catalog.Trainer(s.Trainer.Name)
	must(ok, "trainer.name", "one of %s, not %q", strings.Join(catalog.TrainerNames(), ", "), s.Trainer.Name)
	must(s.Actions == domain.FamilyMobile || rules.LanguageModels && s.Actions == domain.FamilyWeb, "actions",
		"mobile, or web where the policies are language models, not %q "+
			"(actions are translated for environments of the other family)", s.Actions)
	if rules.Options == nil {
		return
	}

	options := reflect.New(reflect.TypeOf(rules.Options))
	if raw := s.Trainer.Options; raw != nil {
		if err := json.Unmarshal(raw, options.Interface()); err != nil {
			must(false, "trainer.options", "the trainer's options: %v", err)
			return
		}
	}
	if rules.Check == nil {
		return
	}

	own := func(ok bool, field, expected string, args ...any) {
		must(ok, "trainer.options."+field, expected, args...)
	}
	rules.Check(options.Elem().Interface(), own, Demand{
		Batches:   []int{s.Train.BatchSize, s.FineTune.Train.BatchSize, s.FineTune.Preference.BatchSize},
		OnePolicy: s.Parameters == ParametersShared || s.Epochs == 0,
	})
}
