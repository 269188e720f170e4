package claims

import (
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/examples"
	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/method/spec"
)

// change is a part of what makes an arm.
type change = func(s *spec.Spec)

// arm returns an arm that plays both test splits.
func arm(name string, changes ...change) Arm {
	return Arm{Name: name, change: func(s *spec.Spec, episodes int) {
		s.Evaluation = s.Evaluation.WithoutTests()
		s.Evaluation.TestSeeds, s.Evaluation.TestTemplates = episodes, episodes
		for _, c := range changes {
			c(s)
		}
	}}
}

// later returns an arm that begins with the base policy of the first one, which has played the base systems.
func later(name string, changes ...change) Arm {
	return arm(name, append(changes, func(s *spec.Spec) { s.Evaluation.Base = false })...)
}

func imitate(s *spec.Spec)  { s.Preference = spec.PreferenceRFT }
func errOften(s *spec.Spec) { s.Critic.Error = 0.15 }

// paperPairs makes the paper's pairs, and passes over them once.
func paperPairs(s *spec.Spec) { s.Pairs.Kind, s.Train.Passes = spec.PairsPositive, 1 }

// preference compares preference optimisation without an SFT term with RFT on the chosen answers of the same pairs, for
// the same number of steps, and both with a critic that errs. dpo-paper has the paper's pairs.
func preference() Experiment {
	x := Experiment{
		About: "preference optimisation without an SFT term, and RFT at equal steps and samples", Shared: true,
		file: "quickstart.yaml", raw: examples.Quickstart,
		Arms: []Arm{
			arm("dpo"), later("rft", imitate), later("dpo-e15", errOften), later("rft-e15", errOften, imitate),
			later("dpo-paper", paperPairs),
		},
	}
	add := func(name, split, that string, of, minus int, must *condition) {
		x.rows = append(x.rows, row{
			name: name + " on " + split, this: kindTrained, that: that, split: split, of: of, minus: minus, must: must,
		})
	}

	add("dpo − base", domain.SplitTestSeeds, kindBase, 0, 0, gains(15))
	add("dpo − base", domain.SplitTestTemplates, kindBase, 0, 0, gains(5))
	add("dpo-paper − base", domain.SplitTestSeeds, kindBase, 4, 0, gains(15))
	add("dpo-paper − base", domain.SplitTestTemplates, kindBase, 4, 0, gains(5))
	for _, split := range []string{domain.SplitTestSeeds, domain.SplitTestTemplates} {
		add("rft − base", split, kindBase, 1, 0, nil)
		add("dpo − rft", split, kindTrained, 0, 1, nil)
		add("dpo − rft, critic errs 15 %,", split, kindTrained, 2, 3, nil)
	}

	return x
}

// update compares the update of earlier versions with variants of it that change one thing, and with today's. No gate
// keeps a parent policy, so that the table shows what every update does.
func update() Experiment {
	x := Experiment{
		About: "what each part of the update does: the old one without an SFT term, with one change each, and today's",
		file:  "quickstart.yaml", raw: examples.Quickstart, Shared: true,
	}
	add := func(name string, changes ...change) {
		all := append([]change{ungated}, changes...)
		if len(x.Arms) == 0 {
			x.Arms = append(x.Arms, arm(name, all...))
		} else {
			x.Arms = append(x.Arms, later(name, all...))
		}
		for _, split := range []string{domain.SplitTestSeeds, domain.SplitTestTemplates} {
			x.rows = append(x.rows, row{
				name: name + " − base on " + split, this: kindTrained, that: kindBase, split: split,
				of: len(x.Arms) - 1,
			})
		}
	}

	add("new")
	add("old", old)
	add("old-ftx", old, func(s *spec.Spec) { s.Train.Ftx = 1 })
	add("old-paper", old, func(s *spec.Spec) { s.Pairs.Kind = spec.PairsPositive })
	add("old-rate", old, func(s *spec.Spec) { s.Train.LearningRate = 1e-4 })
	add("old-beta", old, func(s *spec.Spec) { s.Train.Beta = 1 })
	add("old-warm", old, func(s *spec.Spec) { s.Adversary.Temperature = 1 })
	add("old-types", old, func(s *spec.Spec) { s.Pairs.BalanceTypes = true })
	add("old-negatives", old, negatives)
	add("old-smooth", old, func(s *spec.Spec) { s.Train.Smoothing, s.Train.Beta = 0.1, 1 })
	add("old-epoch", old, func(s *spec.Spec) { s.Reference = spec.ReferenceEpochStart })
	add("old-ipo", old, func(s *spec.Spec) { s.Train.Loss, s.Train.Beta = domain.LossIPO, 0.25 })
	add("old-positive", old, func(s *spec.Spec) { s.Train.Loss = domain.LossPositive })
	add("old-normalised", old, func(s *spec.Spec) { s.Train.Loss, s.Train.Beta = domain.LossNormalised, 1 })
	add("new-base", func(s *spec.Spec) { s.Reference = spec.ReferenceBase })
	add("new-sharp", func(s *spec.Spec) { s.Train.Smoothing = 0 })
	add("new-steep", func(s *spec.Spec) { s.Train.Beta = 2 })
	add("new-once", func(s *spec.Spec) { s.Train.Passes = 1 })
	add("new-one", func(s *spec.Spec) { s.Pairs.Negatives = 1 })
	add("new-many", func(s *spec.Spec) {
		s.Adversary.Candidates, s.Pairs.Negatives, s.Pairs.PerStep, s.Pairs.PerEpisode = 12, 8, 16, 64
	})
	add("new-types", func(s *spec.Spec) { s.Pairs.BalanceTypes = true })
	add("new-paper", func(s *spec.Spec) { s.Pairs.Kind = spec.PairsPositive })
	for _, c := range []credit.CellChoice{credit.LatestCells, credit.UncertainCells, credit.ContradictedCells} {
		add("new-"+string(c), func(s *spec.Spec) { s.Pairs.Cells = c })
	}
	add("new-ftx", func(s *spec.Spec) { s.Train.Ftx = 0.5 })

	return x
}

// ungated turns the gates off that keep a parent policy because of what the update did to answers.
func ungated(s *spec.Spec) {
	s.Gates.MaxKL, s.Gates.MinLogprob, s.Gates.TypeShare, s.Gates.MaxValDrop = 1000, -1000, 1, 1
}

// old is the update of versions before this experiment, without its SFT term.
func old(s *spec.Spec) {
	s.Adversary.Temperature = 2
	s.Pairs = spec.Pairs{
		Kind: spec.PairsCorrection, Cells: credit.LatestCells, Negatives: 1, PerStep: 2, PerEpisode: 8,
		MinPairs: s.Pairs.MinPairs, MaxWeight: 1000,
	}
	s.Reference = spec.ReferenceBase
	s.Train.Beta, s.Train.Smoothing, s.Train.Passes = 0.1, 0, 2
}

// negatives takes today's rejected answers, in one pass.
func negatives(s *spec.Spec) {
	s.Adversary.Temperature = 1
	s.Pairs.Negatives, s.Pairs.PerStep, s.Pairs.PerEpisode, s.Train.Passes = 4, 8, 32, 1
}
