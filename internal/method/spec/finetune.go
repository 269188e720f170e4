package spec

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/collabui/collabui/domain"
)

// FineTune configures stage 1. Without levels, it is SFT on the steps of demonstrations, in chunks, until one agent's
// success rate on val is in the band. With levels, it is the curriculum of docs/method.md, in which every level has its
// own number of optimiser steps.
type FineTune struct {
	// Base is the policy with which stage 1 begins: the digest of a policy in the store, or domain.UntrainedBase for
	// the base model of trainer.options. Without levels, it becomes the base policy, and stage 1 trains nothing.
	Base string `json:"base,omitempty"`
	// Levels is a subset of 1, 2 and 3 in ascending order. If it is empty, only demonstrations are used.
	Levels []int      `json:"levels,omitempty"`
	Steps  LevelSteps `json:"steps"`
	Data   LevelData  `json:"data"`
	// Preference holds the parameters of DPO in level 3. Its passes are derived from the steps.
	Preference domain.TrainParams `json:"preference"`
	// Demonstrations is the number of tasks that the UI agent plays. Stage 1 trains on them or, with levels,
	// synthesises its data from them.
	Demonstrations int `json:"demonstrations"`
	// MessageShare is the share of prompts that contain messages, from 0 to 1. Half of the messages are wrong.
	MessageShare float64 `json:"message_share"`
	ChunkSteps   int     `json:"chunk_steps"` // optimiser steps between evaluations
	MaxChunks    int     `json:"max_chunks"`
	// StopLow is the success rate, from 0 to 1, that ends stage 1 at the first evaluation that reaches it. If the rate
	// then exceeds StopHigh, the base is recorded as too strong.
	StopLow  float64            `json:"stop_low"`
	StopHigh float64            `json:"stop_high"`
	Train    domain.TrainParams `json:"train"`
}

// LevelSteps holds numbers of optimiser steps. Level 3 has two jobs: SFT on the chosen answers, then DPO.
type LevelSteps struct {
	Level1     int `json:"level1"`
	Level2     int `json:"level2"`
	Level3     int `json:"level3"`
	Preference int `json:"preference"`
}

// LevelData holds digests of data sets that `collabui import` stored. They replace synthesised data sets.
type LevelData struct {
	Level1 string `json:"level1,omitempty"`
	Level2 string `json:"level2,omitempty"`
	Level3 string `json:"level3,omitempty"`
}

// Of returns the digest of the data set of a level from 1 to 3. If it is empty, the level's data is synthesised.
func (d LevelData) Of(level int) string { return [...]string{d.Level1, d.Level2, d.Level3}[level-1] }

// LevelJob is a training job of stage 1 with levels.
type LevelJob struct {
	Level      int
	Preference bool // DPO on the level's pairs instead of SFT
	Steps      int
}

// Name returns the job's name for people.
func (j LevelJob) Name() string {
	if j.Preference {
		return fmt.Sprintf("level %d, DPO", j.Level)
	}

	return fmt.Sprintf("level %d, SFT", j.Level)
}

// LevelJobs returns the jobs of the levels in order, except jobs without steps.
func (f FineTune) LevelJobs() []LevelJob {
	var out []LevelJob
	for _, l := range f.Levels {
		out = append(out, LevelJob{Level: l, Steps: [...]int{f.Steps.Level1, f.Steps.Level2, f.Steps.Level3}[l-1]})
		if l == 3 {
			out = append(out, LevelJob{Level: l, Preference: true, Steps: f.Steps.Preference})
		}
	}

	return slices.DeleteFunc(out, func(levelJob LevelJob) bool { return levelJob.Steps == 0 })
}

func defaultFineTune() FineTune {
	return FineTune{
		Steps: LevelSteps{Level1: 40, Level2: 80, Level3: 80, Preference: 40},
		Preference: domain.TrainParams{
			LearningRate: 1e-3, Warmup: 0.1, FinalShare: 0.1, BatchSize: 16, Passes: 1,
			Loss: domain.LossDPO, Beta: 1, Smoothing: 0.1,
		},
		Demonstrations: 340,
		MessageShare:   0.4,
		ChunkSteps:     10,
		MaxChunks:      100,
		StopLow:        0.40,
		StopHigh:       0.55,
		Train: domain.TrainParams{
			LearningRate: 2e-3, Warmup: 0.05, FinalShare: 1, BatchSize: 16, Passes: 20,
		},
	}
}

func (f FineTune) check(must Must) {
	must.count(f.Demonstrations, "finetune.demonstrations", 1, 9999)
	must.within(f.MessageShare, "finetune.message_share", 0, 1)
	must.count(f.ChunkSteps, "finetune.chunk_steps", 1, 100000)
	must.count(f.MaxChunks, "finetune.max_chunks", 1, 1000)
	must.within(f.StopLow, "finetune.stop_low", 0, 1)
	must.within(f.StopHigh, "finetune.stop_high", f.StopLow, 1)

	must.count(f.Steps.Level1, "finetune.steps.level1", 0, 1000000)
	must.count(f.Steps.Level2, "finetune.steps.level2", 0, 1000000)
	must.count(f.Steps.Level3, "finetune.steps.level3", 0, 1000000)
	must.count(f.Steps.Preference, "finetune.steps.preference", 0, 1000000)
}

var digest = regexp.MustCompile(`^[0-9a-f]{64}$`)

// checkLevels checks the base of stage 1, its levels and their data, and whether the trainer supports their jobs.
func (s Spec) checkLevels(catalog Catalog, must Must) {
	tune := s.FineTune
	base := tune.Base == "" || digest.MatchString(tune.Base) || tune.Base == domain.UntrainedBase && !s.Embedded()
	must(base, "finetune.base", "the digest of a policy in the store, 64 hexadecimal digits, "+
		"or `model` for the base model of a language model's trainer, not %q", tune.Base)

	for i, l := range tune.Levels {
		if l < 1 || l > 3 || i > 0 && l <= tune.Levels[i-1] {
			must(false, "finetune.levels", "some of 1, 2, 3, ascending, not %v", tune.Levels)
			return
		}
	}
	s.checkObjectives(catalog, must)
	jobs := tune.LevelJobs()
	must(len(tune.Levels) == 0 || len(jobs) > 0 || tune.Base != "", "finetune.steps",
		"steps for one of the levels %v", tune.Levels)

	preference := slices.ContainsFunc(jobs, func(levelJob LevelJob) bool { return levelJob.Preference })
	must(!preference || tune.Preference.Beta > 0, "finetune.preference.beta", "a number above 0 for the DPO of level 3")

	s.checkLevelData(must)

	if slices.Contains(tune.Levels, 3) && tune.Data.Level3 == "" {
		before := tune.Base != "" || len(jobs) > 0 && jobs[0].Level < 3
		must(s.Adversary.Model != RolePolicy || before, "finetune.levels",
			"a level with steps before 3, finetune.base, or a model as adversary: "+
				"the adversary of level 3 is the policy that was trained before it")
		must(s.Credit == CreditCritic, "finetune.levels",
			"no level 3 with credit: %s: the critic grades its pairs", s.Credit)
	}
}

func (s Spec) checkLevelData(must Must) {
	for l := 1; l <= 3; l++ {
		d := s.FineTune.Data.Of(l)
		field := fmt.Sprintf("finetune.data.level%d", l)
		must(d == "" || digest.MatchString(d), field,
			"the digest that `collabui import` printed, 64 hexadecimal digits, not %q", d)
		must(d == "" || slices.Contains(s.FineTune.Levels, l), field, "level %d among finetune.levels", l)
	}
}
