package spec_test

import (
	"strings"
	"testing"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/trainer"
	"github.com/collabui/collabui/workers/catalog"
)

const onlyDPO = "name: a\ntrainer: {name: trl, options: {model: /m}}\n"

func TestATrainerMustHaveTheObjectivesOfTheRun(t *testing.T) {
	const lacks = ", which needs sft: the trainer trl has only dpo"
	mistakes{
		"": "finetune.base: expected no stage 1 on demonstrations " +
			"(name a base policy here)" + lacks,
		"finetune: {base: model, levels: [1]}":     "finetune.levels: expected no level 1, SFT" + lacks,
		"finetune: {base: model}\npreference: rft": "preference: expected no preference: rft" + lacks,
	}.check(t, onlyDPO)

	parse(t, onlyDPO+"finetune: {base: model}\n")
	parse(t, onlyDPO+"finetune: {base: model, levels: [3], steps: {level3: 0}}\n")
}

func TestATrainerWithoutSFTCannotImitate(t *testing.T) {
	s := parse(t, onlyDPO+"finetune: {base: model}\n")
	err := s.CheckImitation(catalog.All{})
	want := "needs sft, and the trainer trl has only dpo"
	if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), want) {
		t.Errorf("CheckImitation = %v, want an invalid fault with %q", err, want)
	}
	if err := spec.Default().CheckImitation(catalog.All{}); err != nil {
		t.Errorf("CheckImitation of the embedded trainer = %v, want none", err)
	}
}

func TestDeclaredObjectivesAreThoseOfTrainers(t *testing.T) {
	for _, name := range (catalog.All{}).TrainerNames() {
		r, _ := catalog.All{}.Trainer(name)
		for _, o := range r.Objectives {
			if o != string(trainer.SFT) && o != string(trainer.DPO) {
				t.Errorf("the trainer %s has the objective %q, want %s or %s", name, o, trainer.SFT, trainer.DPO)
			}
		}
	}
}
