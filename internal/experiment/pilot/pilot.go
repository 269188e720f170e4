// Package pilot estimates what a run takes from a small run of the same specification, its pilot.
package pilot

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store/runs"
)

// expertEpisodes is the number of an expert's episodes for every episode of the pilot.
const expertEpisodes = 4

// steps is the number of optimiser steps of each of a pilot's training jobs.
const steps = 20

// Spec returns the specification of the pilot of s: every stage with a few episodes. Its name contains a digest, so an
// unchanged specification always has the same pilot.
func Spec(s spec.Spec, episodes int) spec.Spec {
	p := s
	p.Epochs = min(s.Epochs, 1)
	p.Slots = min(s.Slots, episodes)

	p.FineTune.Demonstrations = min(s.FineTune.Demonstrations, episodes)
	if len(s.FineTune.Levels) == 0 { // the expert's cost nothing, and tell how long episodes that succeed are
		p.FineTune.Demonstrations = min(s.FineTune.Demonstrations, expertEpisodes*episodes)
	}
	p.FineTune.ChunkSteps = min(s.FineTune.ChunkSteps, steps)
	p.FineTune.MaxChunks = 1
	jobs := &p.FineTune.Steps
	for _, n := range []*int{&jobs.Level1, &jobs.Level2, &jobs.Level3, &jobs.Preference} {
		*n = min(*n, steps)
	}
	p.Synthesis.Screens = min(s.Synthesis.Screens, 2*episodes)
	p.Synthesis.Pairs = min(s.Synthesis.Pairs, 2*episodes)

	p.Evaluation.Val = min(s.Evaluation.Val, episodes)
	p.Evaluation.Every = 1
	p.Evaluation = p.Evaluation.WithoutTests()
	p.Evaluation.OutOfDistribution = slices.Clone(s.Evaluation.OutOfDistribution)
	for i := range p.Evaluation.OutOfDistribution {
		n := &p.Evaluation.OutOfDistribution[i].Episodes
		*n = min(cmp.Or(*n, episodes), episodes)
	}
	p.Pairs.MinPairs = 1
	p.FailedShare = 1

	p.Name = fmt.Sprintf("%.24s-pilot-%.8s", s.Name, runs.Digest(p))

	return p
}
