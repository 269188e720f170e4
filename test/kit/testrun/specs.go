package testrun

import "github.com/collabui/collabui/internal/method/spec"

// Small returns a specification that a test plays in seconds.
func Small() spec.Spec {
	specification := spec.Default()
	specification.Name = "small"
	specification.Epochs = 2
	specification.Slots = 10
	specification.Rounds = 2

	specification.FineTune.Demonstrations = 40
	specification.FineTune.MaxChunks = 3
	specification.FineTune.ChunkSteps = 20
	specification.FineTune.Train.Passes = 10
	specification.FineTune.StopLow = 0.2

	specification.Pairs.Kind = spec.PairsCorrection
	specification.Pairs.MinPairs = 4
	specification.Train.BatchSize = 4
	specification.Train.Passes = 1
	specification.Evaluation.Val = 8
	specification.Evaluation.TestSeeds = 6
	specification.Evaluation.TestTemplates = 4
	specification.Evaluation.TestApps = 0

	return specification
}

// Tiny returns Small with hardly any learning, for tests of everything around it.
func Tiny() spec.Spec {
	specification := Small()
	specification.Epochs = 1
	specification.Slots = 5
	specification.FineTune.Demonstrations = 10
	specification.FineTune.MaxChunks = 1
	specification.FineTune.ChunkSteps = 5
	specification.Evaluation.Val = 2
	specification.Evaluation.TestSeeds = 0
	specification.Evaluation.TestTemplates = 0

	return specification
}
