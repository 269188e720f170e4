package pilot

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/collabui/collabui/internal/method/prompts"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/method/stats"
	"github.com/collabui/collabui/internal/payloads"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// Assumptions about the run.
const (
	// successShare is the share of episodes that succeed.
	successShare = 0.6
	// remainingCalls is the share of critic and adversary calls that remain: trained agents agree, and equal answers
	// need only one call.
	remainingCalls = 0.7
	// optimiserStates is the size of the checkpoints on the way to a policy, in sizes of the policy: the parameters and
	// AdamW's two moments.
	optimiserStates = 3
)

// measuring is the state of one call of Measure.
type measuring struct {
	bucket      store.Bucket
	temporal    client.Client
	converter   converter.DataConverter // of the histories
	run         runs.Run                // the pilot
	spec, pilot spec.Spec
	works       Works

	activities map[string][]activity // by name
	bytes      map[runs.ObjectKind]float64

	expert  float64                  // steps of an expert's episode
	screens [runs.Levels + 1]float64 // by level, the screens that the run writes about per screen of the pilot

	length       float64 // steps of an episode of the run
	rolloutRatio float64 // steps of the run's rollouts per step of the pilot's
}

// Measure reads the cost of the finished pilot p of given from the store and from the histories of its workflows.
func Measure(ctx context.Context, bucket store.Bucket, temporal client.Client, given, p spec.Spec) (Works, error) {
	codec, err := payloads.New()
	if err != nil {
		return nil, err
	}
	m := &measuring{
		bucket: bucket, temporal: temporal, converter: codec.Converter(), run: runs.Run(p.Name), spec: given, pilot: p,
		activities: map[string][]activity{}, bytes: map[runs.ObjectKind]float64{},
	}
	for _, read := range []func(context.Context) error{
		m.histories, m.disk, m.stage1, m.rollouts, m.evaluations, m.calls,
	} {
		if err := read(ctx); err != nil {
			return nil, err
		}
	}

	return m.works, nil
}

// add adds work, unless its cost is zero.
func (m *measuring) add(work Work) {
	if work.Line == (Line{Name: work.Name}) {
		return
	}
	for i, x := range m.works { // calls of other models or epochs
		if x.Name == work.Name {
			m.works[i].Line = x.Plus(work.Line, 1)

			return
		}
	}
	m.works = append(m.works, work)
}

// share returns part / whole, or 0 if whole is 0.
func share(part, whole float64) float64 {
	if whole == 0 {
		return 0
	}

	return part / whole
}

// training returns the numbers of training jobs of stage 1 and of their optimiser steps. Without levels, stage 1 ends
// once the policy is in the band, which may take one job up to MaxChunks: the geometric mean is assumed.
func training(specification spec.Spec) (jobs, steps float64) {
	if len(specification.FineTune.Levels) == 0 && specification.FineTune.Base == "" {
		jobs = math.Sqrt(float64(specification.FineTune.MaxChunks))

		return jobs, jobs * float64(specification.FineTune.ChunkSteps)
	}
	for _, job := range specification.FineTune.LevelJobs() {
		jobs++
		steps += float64(job.Steps)
	}

	return jobs, steps
}

// disk sums the sizes of the pilot's objects by kind, and adds its policies, which all have the same size.
func (m *measuring) disk(ctx context.Context) error {
	objects, err := m.bucket.List(ctx, m.run.Prefix())
	if err != nil {
		return err
	}
	policies := 0.0
	for _, ref := range objects {
		m.bytes[m.run.KindOf(ref.Key)] += float64(ref.Size)
		if strings.HasSuffix(ref.Key, "/update.json") || strings.Contains(ref.Key, "finetune/chunks/") {
			policies++
		}
	}
	jobs, _ := training(m.spec)
	base, _, err := m.run.Base().Must(ctx, m.bucket)
	if err != nil {
		return err
	}
	raw, err := store.GetBlob(ctx, m.bucket, base.Policy.Digest)
	m.add(Work{
		Line:  Line{Name: "policies", Bytes: policies * float64(len(raw)*(1+optimiserStates))},
		Times: share(jobs+float64(m.spec.Agents*m.spec.Epochs), policies),
	})

	return err
}

// demonstrations returns the number of the run's demonstrations in stage 1 per demonstration of the pilot.
func (m *measuring) demonstrations() float64 {
	return share(float64(m.spec.FineTune.Demonstrations), float64(m.pilot.FineTune.Demonstrations))
}

// stage1 reads demonstrations and data cards, and adds the work of stage 1.
func (m *measuring) stage1(ctx context.Context) error {
	tasks := m.pilot.FineTune.Demonstrations
	for i := 0; i < tasks && len(m.pilot.FineTune.Levels) == 0 && m.pilot.FineTune.Base == ""; i++ {
		demonstration, _, err := m.run.Demonstration(i).Must(ctx, m.bucket)
		if err != nil {
			return err
		}
		m.expert += share(float64(len(demonstration.Pairs)), float64(tasks))
	}
	levels, err := m.run.Levels(ctx, m.bucket)
	if err != nil {
		return err
	}
	pilotScreens := 0.0
	runScreens := 0.0
	for _, set := range levels {
		level := set.Card.Level
		counts := set.Card.Counts
		limit := m.spec.Synthesis.Screens
		if level == runs.Levels {
			limit = m.spec.Synthesis.Pairs
		}
		own := min(float64(counts.Screens)*m.demonstrations(), float64(limit))
		m.screens[level] = share(own, float64(counts.Asked))
		pilotScreens += float64(counts.Asked)
		runScreens += own
		if m.spec.Synthesis.Agent == spec.RoleExpert {
			m.expert = share(float64(counts.Screens), float64(tasks))
		}
	}

	played := slices.Concat(m.activities["Demonstrate"], m.activities["Explore"])
	work := timed("stage 1, demonstrations", played, m.demonstrations())
	work.Places = busy(played)
	work.Bytes = m.bytes[runs.KindStage1]
	m.add(work)
	m.add(timed("stage 1, data", m.activities["Synthesize"], share(runScreens, pilotScreens)))

	_, pilotSteps := training(m.pilot)
	jobs, steps := training(m.spec)

	return m.training("stage 1, training", m.activities["TrainChunk"], share(steps, pilotSteps), jobs)
}

// rollouts reads the pilot's episodes, and adds rollouts, credit and pairing, and the updates. Updates grow with the
// pairs, and therefore with the episodes. Successful episodes of the run are assumed to be as long as an expert's, and
// failed episodes as long as the pilot's failed ones, but not shorter than an expert's, because the pilot's policy is
// barely trained.
func (m *measuring) rollouts(ctx context.Context) error {
	graded := slices.Concat(m.activities["Rollout"], m.activities["CreditAndPairing"])
	work := timed("rollouts, credit, pairing", graded, 0)
	work.Places = busy(m.activities["Rollout"])
	work.Bytes = m.bytes[runs.KindEpisode]
	var lengths, failed []float64
	all := 0.0
	for epoch := 1; epoch <= m.pilot.Epochs; epoch++ {
		for slot := 1; slot <= m.pilot.Slots; slot++ {
			episode, _, err := m.run.Episode(ctx, m.bucket, epoch, slot)
			if err != nil {
				return err
			}
			if episode.Failed != "" {
				continue
			}
			lengths = append(lengths, float64(episode.Outcome.Steps))
			all += float64(episode.Outcome.Steps)
			if !episode.Outcome.Success {
				failed = append(failed, float64(episode.Outcome.Steps))
			}
			steps, err := episode.ReadSteps(ctx, m.bucket)
			if err != nil {
				return err
			}
			for _, step := range steps {
				for _, cell := range step.Decision.Cells {
					work.Calls++
					work.Tokens += float64(cell.Usage.Prompt + cell.Usage.Answer)
				}
			}
		}
	}

	m.length = stats.Mean(lengths)
	if m.length > 0 && m.expert > 0 {
		m.length = successShare*m.expert + (1-successShare)*max(stats.Mean(failed), m.expert)
	}
	m.rolloutRatio = share(float64(m.spec.Epochs*m.spec.Slots)*m.length, all)
	work.Times = m.rolloutRatio
	m.add(work)

	return m.training("updates", m.activities["Update"], m.rolloutRatio, float64(m.spec.Agents*m.spec.Epochs))
}

// training adds training jobs with optimiser steps. Their hours grow by the factor times, except the hours before the
// first step, such as loading a model: these grow with the number of jobs, if the duration of a step is known.
func (m *measuring) training(name string, jobs []activity, times, jobsOfRun float64) error {
	hours := 0.0
	all := 0
	before := 0
	for _, a := range jobs {
		job, err := read[struct {
			Number, Steps int // of a chunk of stage 1; its steps are those of all chunks so far
			StepSeconds   float64
		}](m, a.result)
		if err != nil {
			return err
		}
		hours += job.StepSeconds / 3600 * float64(job.Steps-before)
		all += job.Steps
		if job.Number > 0 {
			before = job.Steps
		}
	}
	if all == 0 {
		return nil
	}

	work := timed(name, jobs, times)
	var o struct {
		Devices float64 `json:"devices"`
	}
	_ = json.Unmarshal(m.spec.Trainer.Options, &o) // options of another form contain no devices
	work.Devices = busy(jobs) * o.Devices

	if steps := share(hours, busy(jobs)); steps > 0 && steps < 1 {
		begin := Line{Name: name + ", before the first step"}.Plus(work.Line, 1-steps)
		m.add(Work{Line: begin, Times: share(jobsOfRun, float64(len(jobs)))})
		work.Line = Line{Name: name}.Plus(work.Line, steps)
	}
	m.add(work)

	return nil
}

// calls adds the recorded calls to chat endpoints, by role. Calls of stage 1 grow with the screens that are written
// about, or with the training tasks, and all others with the rollouts.
func (m *measuring) calls(ctx context.Context) error {
	spending, err := m.run.Spending(ctx, m.bucket)
	if err != nil {
		return err
	}
	all := runs.Spent{}
	for _, s := range spending {
		all = all.Plus(s.Spent)
	}
	levels := map[string]int{prompts.Questions: 1, prompts.Instructions: 2, prompts.Critic: 3, prompts.Adversary: 3}
	for _, s := range spending {
		work := Work{Line: Line{
			Name: s.Role, Calls: float64(s.Calls), Tokens: float64(s.Tokens), Money: s.Money,
			Bytes: m.bytes[runs.KindCall] * share(float64(s.Calls), float64(all.Calls)),
		}, Times: m.rolloutRatio}
		if s.Epoch == 0 {
			work.Name = "stage 1, " + s.Role
			work.Times = m.demonstrations()
			if level := levels[s.Role]; level > 0 {
				work.Times = m.screens[level]
			}
		}
		if s.Role == prompts.Critic || s.Role == prompts.Adversary {
			work.Times *= remainingCalls
		}
		m.add(work)
	}

	return nil
}
