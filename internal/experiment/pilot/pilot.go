// Package pilot estimates the cost of a run from a small run of the same specification, its pilot.
package pilot

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
)

// expertEpisodes is the number of an expert's episodes per episode of the pilot.
const expertEpisodes = 4

// steps is the number of optimiser steps of each of a pilot's training jobs.
const steps = 20

// Spec returns the specification of a pilot: every stage with a few episodes. Its name contains a digest, so an
// unchanged specification always has the same pilot.
func Spec(given spec.Spec, episodes int) spec.Spec {
	specification := given
	specification.Epochs = min(given.Epochs, 1)
	specification.Slots = min(given.Slots, episodes)

	specification.FineTune.Demonstrations = min(given.FineTune.Demonstrations, episodes)
	if len(given.FineTune.Levels) == 0 { // an expert costs nothing, and shows the length of successes
		specification.FineTune.Demonstrations = min(given.FineTune.Demonstrations, expertEpisodes*episodes)
	}
	specification.FineTune.ChunkSteps = min(given.FineTune.ChunkSteps, steps)
	specification.FineTune.MaxChunks = 1
	jobs := &specification.FineTune.Steps
	for _, n := range []*int{&jobs.Level1, &jobs.Level2, &jobs.Level3, &jobs.Preference} {
		*n = min(*n, steps)
	}
	specification.Synthesis.Screens = min(given.Synthesis.Screens, 2*episodes)
	specification.Synthesis.Pairs = min(given.Synthesis.Pairs, 2*episodes)

	specification.Evaluation.Val = min(given.Evaluation.Val, episodes)
	specification.Evaluation.Every = 1
	specification.Evaluation = specification.Evaluation.WithoutTests()
	specification.Evaluation.OutOfDistribution = slices.Clone(given.Evaluation.OutOfDistribution)
	for i := range specification.Evaluation.OutOfDistribution {
		n := &specification.Evaluation.OutOfDistribution[i].Episodes
		*n = min(cmp.Or(*n, episodes), episodes)
	}
	specification.Pairs.MinPairs = 1
	specification.FailedShare = 1

	specification.Name = fmt.Sprintf("%.24s-pilot-%.8s", given.Name, runs.Digest(specification))

	return specification
}
