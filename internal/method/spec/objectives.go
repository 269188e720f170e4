package spec

import (
	"slices"
	"strings"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
)

// Objectives of updates, as trainer.Objective names them.
const (
	objectiveSFT = "sft"
	objectiveDPO = "dpo"
)

func (r TrainerRules) has(objective string) bool {
	return r.Objectives == nil || slices.Contains(r.Objectives, objective)
}

// checkLosses checks that the trainer has the losses of preference optimisation that the run asks for.
func (s Spec) checkLosses(c Catalog, must Must) {
	r, _ := c.Trainer(s.Trainer.Name)
	has := func(l domain.Loss, field string) {
		must(r.Losses == nil || l == "" || slices.Contains(r.Losses, l), field,
			"one of %v: the trainer %s has no %s", r.Losses, s.Trainer.Name, l)
	}
	has(s.Train.Loss, "train.loss")
	has(s.FineTune.Preference.Loss, "finetune.preference.loss")
}

// checkObjectives checks that the trainer has the objectives of the run's jobs. The levels are possible ones.
func (s Spec) checkObjectives(c Catalog, must Must) {
	r, _ := c.Trainer(s.Trainer.Name)
	needs := func(objective, field, what string) {
		must(r.has(objective), field, "no %s, which needs %s: the trainer %s has only %s",
			what, objective, s.Trainer.Name, strings.Join(r.Objectives, ", "))
	}

	if len(s.FineTune.Levels) == 0 && s.FineTune.Base == "" {
		needs(objectiveSFT, "finetune.base", "stage 1 on demonstrations (name a base policy here)")
	}
	for _, j := range s.FineTune.LevelJobs() {
		if j.Preference {
			needs(objectiveDPO, "finetune.levels", j.Name())
		} else {
			needs(objectiveSFT, "finetune.levels", j.Name())
		}
	}

	if s.Epochs == 0 {
		return
	}
	if s.Preference == PreferenceRFT {
		needs(objectiveSFT, "preference", "preference: rft")
	} else {
		needs(objectiveDPO, "preference", "preference: dpo")
	}
}

// CheckImitation returns an invalid fault if the trainer lacks the objective of an experiment's control: imitation of
// the chosen answers is SFT.
func (s Spec) CheckImitation(c Catalog) error {
	if r, _ := c.Trainer(s.Trainer.Name); !r.has(objectiveSFT) && s.Epochs > 0 {
		return fault.New(fault.Invalid, "the control, imitation of the chosen answers, needs %s, and the trainer %s "+
			"has only %s", objectiveSFT, s.Trainer.Name, strings.Join(r.Objectives, ", "))
	}

	return nil
}
