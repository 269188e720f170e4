package spec

import (
	"slices"
	"strings"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
)

// Objectives of updates, named as by trainer.Objective.
const (
	objectiveSFT  = "sft"
	objectiveDPO  = "dpo"
	objectiveGRPO = "grpo"
)

func (r TrainerRules) has(objective string) bool {
	return slices.Contains(r.objectives(), objective)
}

func (r TrainerRules) objectives() []string {
	if r.Objectives == nil {
		return []string{objectiveSFT, objectiveDPO}
	}

	return r.Objectives
}

// checkLosses checks that the trainer supports the run's losses of preference optimisation.
func (s Spec) checkLosses(catalog Catalog, must Must) {
	trainerRules, _ := catalog.Trainer(s.Trainer.Name)
	has := func(loss domain.Loss, field string) {
		must(trainerRules.Losses == nil || loss == "" || slices.Contains(trainerRules.Losses, loss), field,
			"one of %s: the trainer %s has no %s", List(trainerRules.Losses), s.Trainer.Name, loss)
	}
	must(s.Train.SFT == 0 || s.Embedded(), "train.sft",
		"0: only the embedded trainer learns from right answers beside pairs, not %s", s.Trainer.Name)
	has(s.Train.Loss, "train.loss")
	has(s.FineTune.Preference.Loss, "finetune.preference.loss")
}

// checkGRPO checks that a run with GRPO requests nothing impossible: its samples are answers of the current system, and
// their labels must be able to differ within a step.
func (s Spec) checkGRPO(must Must) {
	if s.Preference != PreferenceGRPO {
		return
	}
	must(s.Credit == CreditCritic, "credit", "critic with preference: grpo, not %s, which gives all labelled answers "+
		"of a step the same label, so that no answer is better than another", s.Credit)
	must(s.Train.Loss == "" || s.Train.Loss == domain.LossDPO, "train.loss",
		"no loss with preference: grpo, which has its own, not %s", s.Train.Loss)
	must(s.Train.Ftx == 0, "train.ftx", "0 with preference: grpo, which imitates nothing, not %v", s.Train.Ftx)
	must(s.Train.SFT == 0, "train.sft", "0 with preference: grpo, which imitates nothing, not %v", s.Train.SFT)
	must(s.Train.Clip > 0, "train.clip", "a number above 0 for grpo")
}

// checkObjectives checks that the trainer supports the objectives of the run's jobs. The levels must be valid.
func (s Spec) checkObjectives(catalog Catalog, must Must) {
	trainerRules, _ := catalog.Trainer(s.Trainer.Name)
	needs := func(objective, field, what string) {
		must(trainerRules.has(objective), field, "no %s, which needs %s: the trainer %s has only %s",
			what, objective, s.Trainer.Name, strings.Join(trainerRules.objectives(), ", "))
	}

	if len(s.FineTune.Levels) == 0 && s.FineTune.Base == "" {
		needs(objectiveSFT, "finetune.base", "stage 1 on demonstrations (name a base policy here)")
	}
	for _, levelJob := range s.FineTune.LevelJobs() {
		if levelJob.Preference {
			needs(objectiveDPO, "finetune.levels", levelJob.Name())
		} else {
			needs(objectiveSFT, "finetune.levels", levelJob.Name())
		}
	}

	if s.Epochs == 0 {
		return
	}
	switch s.Preference {
	case PreferenceRFT:
		needs(objectiveSFT, "preference", "preference: rft")
	case PreferenceGRPO:
		needs(objectiveGRPO, "preference", "preference: grpo")
	default:
		needs(objectiveDPO, "preference", "preference: dpo")
	}
}

// CheckImitation returns an invalid fault if the trainer lacks the objective of an experiment's control, imitation of
// the chosen answers, which is SFT.
func (s Spec) CheckImitation(catalog Catalog) error {
	if trainerRules, _ := catalog.Trainer(s.Trainer.Name); !trainerRules.has(objectiveSFT) && s.Epochs > 0 {
		return fault.New(fault.Invalid, "the control, imitation of the chosen answers, needs %s, and the trainer %s "+
			"has only %s", objectiveSFT, s.Trainer.Name, strings.Join(trainerRules.objectives(), ", "))
	}

	return nil
}
