package fakepolicy

import "github.com/collabui/collabui/internal/method/spec"

// Specification returns a specification with all parts of a run and hardly any work: stage 1, two epochs, evaluation.
func Specification(name string) spec.Spec {
	s := spec.Default()
	s.Name, s.Epochs, s.Slots, s.Rounds, s.Agents = name, 2, 3, 1, 2
	s.FineTune.Demonstrations, s.FineTune.MaxChunks, s.FineTune.ChunkSteps, s.FineTune.StopLow = 2, 1, Steps, 0
	s.Pairs.Kind, s.Pairs.MinPairs = spec.PairsCorrection, 1
	s.Adversary.Candidates = 2
	s.Evaluation.Val, s.Evaluation.TestSeeds, s.Evaluation.TestTemplates, s.Evaluation.TestApps = 2, 1, 0, 0

	return s
}
