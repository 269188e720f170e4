package testrun

import "github.com/collabui/collabui/internal/method/spec"

// Small returns a specification that a test plays in seconds.
func Small() spec.Spec {
	s := spec.Default()
	s.Name = "small"
	s.Epochs = 2
	s.Slots = 10
	s.Rounds = 2

	s.FineTune.Demonstrations = 40
	s.FineTune.MaxChunks = 3
	s.FineTune.ChunkSteps = 20
	s.FineTune.Train.Passes = 10
	s.FineTune.StopLow = 0.2

	s.Pairs.Kind = spec.PairsCorrection
	s.Pairs.MinPairs = 4
	s.Train.BatchSize = 4
	s.Train.Passes = 1
	s.Evaluation.Val = 8
	s.Evaluation.TestSeeds = 6
	s.Evaluation.TestTemplates = 4
	s.Evaluation.TestApps = 0

	return s
}

// Tiny returns Small with hardly any learning, for tests of everything around it.
func Tiny() spec.Spec {
	s := Small()
	s.Epochs = 1
	s.Slots = 5
	s.FineTune.Demonstrations = 10
	s.FineTune.MaxChunks = 1
	s.FineTune.ChunkSteps = 5
	s.Evaluation.Val = 2
	s.Evaluation.TestSeeds = 0
	s.Evaluation.TestTemplates = 0

	return s
}
