package spec_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/trainer"
	"github.com/collabui/collabui/workers/catalog"
)

const onlyDPO = "name: a\ntrainer: {name: trl, options: {model: /m}}\n"

func TestATrainerMustHaveTheObjectivesOfTheRun(t *testing.T) {
	const lacks = ", which needs sft: the trainer trl has only dpo, grpo"
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
	want := "needs sft, and the trainer trl has only dpo, grpo"
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
			known := []trainer.Objective{trainer.SFT, trainer.DPO, trainer.GRPO}
			if !slices.Contains(known, trainer.Objective(o)) {
				t.Errorf("the trainer %s has the objective %q, want one of %v", name, o, known)
			}
		}
	}
}

func TestOnlyTheEmbeddedTrainerLearnsFromRightAnswersBesidePairs(t *testing.T) {
	mistakes{
		"train: {sft: 1}": "train.sft: expected 0: only the embedded trainer learns from right answers beside pairs, " +
			"not trl",
	}.check(t, onlyDPO+"finetune: {base: model}\n")

	if s := parse(t, "name: a\ntrain: {sft: 1}\n"); !s.LearnsRight() {
		t.Error("LearnsRight = false with train.sft: 1, want true")
	}
	if s := parse(t, "name: a\npreference: rft\ntrain: {sft: 1}\n"); s.LearnsRight() {
		t.Error("LearnsRight = true with preference: rft, want false")
	}
}

func TestGRPORefusesWhatItCannotDo(t *testing.T) {
	mistakes{
		"credit: outcome": "credit: expected critic with preference: grpo, not outcome, which gives all labelled " +
			"answers of a step the same label, so that no answer is better than another",
		"train: {loss: ipo}":  "train.loss: expected no loss with preference: grpo, which has its own, not ipo",
		"train: {ftx: 0.5}":   "train.ftx: expected 0 with preference: grpo, which imitates nothing, not 0.5",
		"train: {sft: 0.5}":   "train.sft: expected 0 with preference: grpo, which imitates nothing, not 0.5",
		"train: {clip: 0}":    "train.clip: expected a number above 0 for grpo",
		"train: {clip: -0.1}": "train.clip: expected a number from 0 to 100, not -0.1",
		"train: {kl: -1}":     "train.kl: expected a number from 0 to 100, not -1",
		"trainer: {name: llamafactory, options: {model: /m, template: qwen}}": "preference: expected no preference: " +
			"grpo, which needs grpo: the trainer llamafactory has only sft, dpo",
	}.check(t, "name: a\npreference: grpo\n")

	parse(t, "name: a\npreference: grpo\n")
	parse(t, onlyDPO+"finetune: {base: model}\npreference: grpo\n")
}
