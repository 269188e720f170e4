package fakepolicy

import "github.com/collabui/collabui/internal/method/spec"

// Specification returns a specification with all parts of a run and hardly any work: stage 1, two epochs, evaluation.
func Specification(name string) spec.Spec {
	specification := spec.Default()
	specification.Name = name
	specification.Epochs = 2
	specification.Slots = 3
	specification.Rounds = 1
	specification.Agents = 2
	specification.FineTune.Demonstrations = 2
	specification.FineTune.MaxChunks = 1
	specification.FineTune.ChunkSteps = Steps
	specification.FineTune.StopLow = 0
	specification.Pairs.Kind = spec.PairsCorrection
	specification.Pairs.MinPairs = 1
	specification.Adversary.Candidates = 2
	specification.Evaluation.Val = 2
	specification.Evaluation.TestSeeds = 1
	specification.Evaluation.TestTemplates = 0
	specification.Evaluation.TestApps = 0

	return specification
}
