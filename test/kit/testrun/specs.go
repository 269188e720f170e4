package testrun

import "github.com/collabui/collabui/internal/method/spec"

// Small returns a specification that a test plays in seconds.
func Small() spec.Spec {
	s := spec.Default()
	s.Name, s.Epochs, s.Slots, s.Rounds = "small", 2, 10, 2

	s.FineTune.Demonstrations, s.FineTune.MaxChunks, s.FineTune.ChunkSteps = 40, 3, 20
	s.FineTune.Train.Passes, s.FineTune.StopLow = 10, 0.2

	s.Pairs.Kind, s.Pairs.MinPairs = spec.PairsCorrection, 4
	s.Train.BatchSize, s.Train.Passes = 4, 1
	s.Evaluation.Val, s.Evaluation.TestSeeds, s.Evaluation.TestTemplates, s.Evaluation.TestApps = 8, 6, 4, 0

	return s
}

// Tiny returns Small with hardly any learning, for tests of everything around it.
func Tiny() spec.Spec {
	s := Small()
	s.Epochs, s.Slots = 1, 5
	s.FineTune.Demonstrations, s.FineTune.MaxChunks, s.FineTune.ChunkSteps = 10, 1, 5
	s.Evaluation.Val, s.Evaluation.TestSeeds, s.Evaluation.TestTemplates = 2, 0, 0

	return s
}
