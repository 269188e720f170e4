// Package pilot makes a small run of a specification, its pilot, and measures what the finished pilot took, so that the
// whole run can be estimated.
package pilot

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"go.temporal.io/sdk/client"

	"github.com/collabui/collabui/internal/experiment/estimate"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/process/payloads"
	"github.com/collabui/collabui/internal/store"
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
	p.Epochs, p.Slots = min(s.Epochs, 1), min(s.Slots, episodes)

	p.FineTune.Demonstrations = min(s.FineTune.Demonstrations, episodes)
	if len(s.FineTune.Levels) == 0 { // the expert's cost nothing, and tell how long episodes that succeed are
		p.FineTune.Demonstrations = min(s.FineTune.Demonstrations, expertEpisodes*episodes)
	}
	p.FineTune.ChunkSteps, p.FineTune.MaxChunks = min(s.FineTune.ChunkSteps, steps), 1
	jobs := &p.FineTune.Steps
	for _, n := range []*int{&jobs.Level1, &jobs.Level2, &jobs.Level3, &jobs.Preference} {
		*n = min(*n, steps)
	}
	p.Synthesis.Screens = min(s.Synthesis.Screens, 2*episodes)
	p.Synthesis.Pairs = min(s.Synthesis.Pairs, 2*episodes)

	p.Evaluation.Val, p.Evaluation.Every = min(s.Evaluation.Val, episodes), 1
	p.Evaluation = p.Evaluation.WithoutTests()
	p.Evaluation.OutOfDistribution = slices.Clone(s.Evaluation.OutOfDistribution)
	for i := range p.Evaluation.OutOfDistribution {
		n := &p.Evaluation.OutOfDistribution[i].Episodes
		*n = min(cmp.Or(*n, episodes), episodes)
	}
	p.Pairs.MinPairs, p.FailedShare = 1, 1

	p.Name = fmt.Sprintf("%.24s-pilot-%.8s", s.Name, runs.Digest(p))

	return p
}

// Measure reads what the finished pilot p of s took, from the store and from the histories of its workflows.
func Measure(ctx context.Context, b store.Bucket, t client.Client, s, p spec.Spec) (estimate.Pilot, error) {
	codec, err := payloads.New()
	if err != nil {
		return estimate.Pilot{}, err
	}
	m := &measuring{
		ctx: ctx, bucket: b, temporal: t, codec: codec, run: runs.Run(p.Name),
		spec: s, pilot: p, byRole: map[string]*calls{},
	}
	for _, read := range []func() error{m.episodes, m.calls, m.epochs, m.evaluations, m.stage1, m.disk} {
		if err := read(); err != nil {
			return m.out, err
		}
	}

	return m.out, nil
}

// measuring is the state of one Measure.
type measuring struct {
	ctx      context.Context
	bucket   store.Bucket
	temporal client.Client
	codec    *payloads.Codec // of the histories
	run      runs.Run        // the pilot
	spec     spec.Spec
	pilot    spec.Spec
	out      estimate.Pilot

	// Of the pilot's epoch.
	cells     float64 // calls of policies
	audits    float64 // calls of the critic
	proposals float64 // calls of the adversary
	pairs     float64
	steps     float64 // steps of all episodes
	tokens    estimate.Sample

	lanes     float64 // episodes that the pilot rolled out at once
	evaluated []*evaluated

	byRole      map[string]*calls
	screenCount float64    // screens of all trajectories of stage 1
	asked       [4]float64 // screens that were written about, by level from 1
}

// chunks returns the number of chunks of stage 1, at most.
func chunks(s spec.Spec) int {
	if n := len(s.FineTune.LevelJobs()); n > 0 || s.FineTune.Base != "" {
		return n
	}

	return s.FineTune.MaxChunks
}

// leastChunks returns the least number of chunks of stage 1: the band may be reached with the first.
func leastChunks(s spec.Spec) int {
	if len(s.FineTune.Levels) > 0 {
		return chunks(s)
	}

	return min(chunks(s), 1)
}

// optimiserSteps returns the least and the most optimiser steps of stage 1.
func optimiserSteps(s spec.Spec) (low, high float64) {
	if len(s.FineTune.Levels) == 0 && s.FineTune.Base == "" {
		return float64(s.FineTune.ChunkSteps), float64(s.FineTune.ChunkSteps * s.FineTune.MaxChunks)
	}
	for _, job := range s.FineTune.LevelJobs() {
		low += float64(job.Steps)
	}

	return low, low
}

// slots returns the number of episodes that the run rolls out.
func (m *measuring) slots() float64 { return float64(m.spec.Epochs * m.spec.Slots) }

// pilotSlots returns the number of episodes that the pilot rolled out.
func (m *measuring) pilotSlots() float64 { return float64(m.pilot.Epochs * m.pilot.Slots) }

// demonstrations returns the training tasks of stage 1, of the run and of the pilot.
func (m *measuring) demonstrations() (run, pilot float64) {
	return float64(m.spec.FineTune.Demonstrations), float64(m.pilot.FineTune.Demonstrations)
}
