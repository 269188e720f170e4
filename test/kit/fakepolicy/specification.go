package fakepolicy

import "github.com/collabui/collabui/internal/method/spec"

// Specification returns a specification with all parts of a run and hardly any work: stage 1, two epochs, evaluation.
func Specification(name string) spec.Spec {
	s := spec.Default()
	s.Name = name
	s.Epochs = 2
	s.Slots = 3
	s.Rounds = 1
	s.Agents = 2
	s.FineTune.Demonstrations = 2
	s.FineTune.MaxChunks = 1
	s.FineTune.ChunkSteps = Steps
	s.FineTune.StopLow = 0
	s.Pairs.Kind = spec.PairsCorrection
	s.Pairs.MinPairs = 1
	s.Adversary.Candidates = 2
	s.Evaluation.Val = 2
	s.Evaluation.TestSeeds = 1
	s.Evaluation.TestTemplates = 0
	s.Evaluation.TestApps = 0

	return s
}
