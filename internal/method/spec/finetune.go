package spec

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/collabui/collabui/domain"
)

// FineTune is stage 1. Without levels it is SFT on expert steps of training tasks, in chunks, until one agent's success on val is in the band. With levels it
// is METHOD.md's curriculum, every level with a number of optimiser steps of its own. Either begins at Base where one is given.
type FineTune struct {
	Base           string             `json:"base,omitempty" yaml:"base"`           // digest of a policy in the store, or `model`: the base model of trainer.options; alone, it is the base policy as it stands
	Levels         []int              `json:"levels,omitempty" yaml:"levels"`       // of 1, 2 and 3, ascending; empty: demonstrations only
	Steps          LevelSteps         `json:"steps" yaml:"steps"`                   // optimiser steps of the levels
	Data           LevelData          `json:"data" yaml:"data"`                     // data sets of one's own in place of synthesised ones
	Preference     domain.TrainParams `json:"preference" yaml:"preference"`         // of level 3's DPO; passes follow from the steps
	Demonstrations int                `json:"demonstrations" yaml:"demonstrations"` // tasks that the UI agent plays: expert episodes, or what the levels are synthesised from
	MessageShare   float64            `json:"message_share" yaml:"message_share"`   // of prompts that carry messages, half of them wrong
	ChunkSteps     int                `json:"chunk_steps" yaml:"chunk_steps"`       // optimiser steps between evaluations
	MaxChunks      int                `json:"max_chunks" yaml:"max_chunks"`
	StopLow        float64            `json:"stop_low" yaml:"stop_low"`   // the first evaluation at or above ends stage 1
	StopHigh       float64            `json:"stop_high" yaml:"stop_high"` // above, the base counts as too strong: recorded, not hidden
	Train          domain.TrainParams `json:"train" yaml:"train"`
}

// LevelSteps are optimiser steps; level 3 has two: SFT on the chosen answers, then DPO.
type LevelSteps struct {
	Level1     int `json:"level1" yaml:"level1"`
	Level2     int `json:"level2" yaml:"level2"`
	Level3     int `json:"level3" yaml:"level3"`
	Preference int `json:"preference" yaml:"preference"`
}

// LevelData are digests of imported data sets; see `collabui import`.
type LevelData struct {
	Level1 string `json:"level1,omitempty" yaml:"level1"`
	Level2 string `json:"level2,omitempty" yaml:"level2"`
	Level3 string `json:"level3,omitempty" yaml:"level3"`
}

// Of is the digest for a level; empty: the level is synthesised.
func (d LevelData) Of(level int) string { return [...]string{d.Level1, d.Level2, d.Level3}[level-1] }

// LevelJob is one training job of stage 1 with levels.
type LevelJob struct {
	Level      int
	Preference bool // DPO on the level's pairs, else SFT
	Steps      int
}

// Name is the stage as people see it.
func (s LevelJob) Name() string {
	if s.Preference {
		return fmt.Sprintf("level %d, DPO", s.Level)
	}
	return fmt.Sprintf("level %d, SFT", s.Level)
}

// LevelJobs are the jobs of the levels in their order; those of no steps are left out.
func (f FineTune) LevelJobs() []LevelJob {
	var out []LevelJob
	for _, l := range f.Levels {
		out = append(out, LevelJob{Level: l, Steps: [...]int{f.Steps.Level1, f.Steps.Level2, f.Steps.Level3}[l-1]})
		if l == 3 {
			out = append(out, LevelJob{Level: l, Preference: true, Steps: f.Steps.Preference})
		}
	}
	return slices.DeleteFunc(out, func(s LevelJob) bool { return s.Steps == 0 })
}

// Synthesis makes the data of the levels from the screens that the UI agent visits (METHOD.md section 3).
type Synthesis struct {
	Agent        string  `json:"agent" yaml:"agent"`               // UI agent that plays training tasks: expert, the environment's (privileged) | a model
	Author       string  `json:"author" yaml:"author"`             // writes questions and instructions: template, fixed rules | a model
	Screens      int     `json:"screens" yaml:"screens"`           // at most that many screens are written about, drawn by seed
	KeepFirst    float64 `json:"keep_first" yaml:"keep_first"`     // share of episodes' first screens that is kept, since they repeat
	Questions    int     `json:"questions" yaml:"questions"`       // per screen, level 1
	Instructions int     `json:"instructions" yaml:"instructions"` // per screen, level 2
	Pairs        int     `json:"pairs" yaml:"pairs"`               // at most that many steps of successful episodes are paired, drawn by seed; level 3
	Screenshots  bool    `json:"screenshots" yaml:"screenshots"`   // kept with every screen, and shown to models that take images
}

var digest = regexp.MustCompile(`^[0-9a-f]{64}$`)

// checkLevels says which values of stage 1's levels are impossible.
func (s Spec) checkLevels(must func(ok bool, field, expected string, args ...any)) {
	f := s.FineTune
	must(f.Base == "" || digest.MatchString(f.Base) || f.Base == domain.UntrainedBase && !s.Embedded(), "finetune.base", "the digest of a policy in the store, 64 hexadecimal digits, or `model` for the base model of a language model's trainer, not %q", f.Base)
	for i, l := range f.Levels {
		if l < 1 || l > 3 || i > 0 && l <= f.Levels[i-1] {
			must(false, "finetune.levels", "some of 1, 2, 3, ascending, not %v", f.Levels)
			return
		}
	}
	must(len(f.Levels) == 0 || len(f.LevelJobs()) > 0 || f.Base != "", "finetune.steps", "steps for one of the levels %v", f.Levels)
	for l := 1; l <= 3; l++ {
		d, field := f.Data.Of(l), fmt.Sprintf("finetune.data.level%d", l)
		must(d == "" || digest.MatchString(d), field, "the digest that `collabui import` printed, 64 hexadecimal digits, not %q", d)
		must(d == "" || slices.Contains(f.Levels, l), field, "level %d among finetune.levels", l)
	}
	for _, x := range []struct {
		name string
		n    int
	}{{"level1", f.Steps.Level1}, {"level2", f.Steps.Level2}, {"level3", f.Steps.Level3}, {"preference", f.Steps.Preference}} {
		must(x.n >= 0 && x.n <= 1000000, "finetune.steps."+x.name, "a whole number from 0 to 1000000, not %d", x.n)
	}
	if st := f.LevelJobs(); slices.Contains(f.Levels, 3) && f.Data.Level3 == "" {
		must(s.Adversary.Model != RolePolicy || f.Base != "" || len(st) > 0 && st[0].Level < 3, "finetune.levels",
			"a level with steps before 3, finetune.base, or a model as adversary: the adversary of level 3 is the policy that stands before it")
		must(s.Credit == "critic", "finetune.levels", "no level 3 with credit: %s: its pairs are graded by the critic", s.Credit)
	}
	y := s.Synthesis
	must(y.Screens >= 1 && y.Screens <= 100000, "synthesis.screens", "a whole number from 1 to 100000, not %d", y.Screens)
	must(y.KeepFirst >= 0 && y.KeepFirst <= 1, "synthesis.keep_first", "a number from 0 to 1, not %v", y.KeepFirst)
	must(y.Pairs >= 1 && y.Pairs <= 1000000, "synthesis.pairs", "a whole number from 1 to 1000000, not %d", y.Pairs)
	must(y.Questions >= 1 && y.Questions <= 100, "synthesis.questions", "a whole number from 1 to 100, not %d", y.Questions)
	must(y.Instructions >= 1 && y.Instructions <= 100, "synthesis.instructions", "a whole number from 1 to 100, not %d", y.Instructions)
}
