package pilot

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/collabui/collabui/internal/experiment/estimate"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/store/runs"
)

// epochs adds the phases of epochs: what episodes took, the updates, and the time between.
func (m *measuring) epochs() error {
	by, updates, between := map[string][]did{}, []did(nil), 0.0
	for epoch := 1; epoch <= m.pilot.Epochs; epoch++ {
		id := fmt.Sprintf("/epoch/%04d", epoch)
		var all []did
		for from := 1; from <= m.pilot.Slots; from += rules.ShardSize {
			of, err := m.done(fmt.Sprintf("%s/shard/%04d", id, from))
			if err != nil {
				return err
			}
			for name, list := range of {
				by[name], all = append(by[name], list...), append(all, list...)
			}
		}
		rest, err := m.done(id)
		if err != nil {
			return err
		}
		played, err := m.done(fmt.Sprintf("/eval/%04d-val", epoch))
		if err != nil {
			return err
		}
		whole, err := m.lasted(id)
		if err != nil {
			return err
		}
		_, busy := work(slices.Concat(all, rest["Update"], played["Evaluate"]))
		between += max(0, whole.Seconds()-busy)
		updates = append(updates, rest["Update"]...)
	}
	if m.pilot.Epochs == 0 {
		return nil
	}

	m.lanes = lanes(by["Rollout"])
	m.episodePhase(by)
	if err := m.updatePhase(updates); err != nil {
		return err
	}
	epochs := float64(m.spec.Epochs)
	m.phase(estimate.Phase{
		Name: "between phases of an epoch", Work: between, Wall: between, Lanes: 1,
		Units: float64(m.pilot.Epochs), Low: epochs, Total: epochs,
	})

	return nil
}

// episodePhase adds rollouts, credit and pairing. The critic works on one episode while others are rolled out, so the
// slowest kind of activity decides.
func (m *measuring) episodePhase(by map[string][]did) {
	p := estimate.Phase{
		Name: "rollouts, credit, pairing", Lanes: 1,
		Units: m.pilotSlots(), Low: m.slots(), Total: m.slots(), Steps: true,
	}
	var all []did
	for _, list := range by {
		seconds, _ := work(list)
		if n := lanes(list); seconds/n > p.Work/p.Lanes {
			p.Work, p.Lanes = seconds, n
		}
		all = append(all, list...)
	}
	_, p.Wall = work(all)
	p.Places, _ = work(by["Rollout"])
	m.phase(p)
}

// Updates names the phase of the updates. An estimate lacks it if the pilot made no pairs.
const Updates = "updates"

// updatePhase adds the updates. They grow with the pairs.
func (m *measuring) updatePhase(all []did) error {
	type updated struct {
		Pairs, Steps int
		StepSeconds  float64
	}
	p := estimate.Phase{
		Name: Updates, Lanes: lanes(all), Devices: m.devices(), Steps: true,
		Jobs: float64(m.spec.Agents * m.spec.Epochs), Low: m.pairs / m.pilotSlots() * m.slots(),
	}
	p.JobsLow, p.Total = p.Jobs, p.Low
	p.Work, p.Wall = work(all)
	steps := 0.0
	for _, d := range all {
		u, err := read[updated](d.result)
		if err != nil {
			return err
		}
		p.Units += float64(u.Pairs)
		steps += u.StepSeconds * float64(u.Steps)
	}
	p.Begins(steps, float64(len(all)))
	m.phase(p)

	return nil
}

// stage1Phases adds the phases of stage 1.
func (m *measuring) stage1Phases() error {
	of, err := m.done("/finetune")
	if err != nil {
		return err
	}
	later := m.out.Phases
	m.out.Phases = nil
	defer func() { m.out.Phases = append(m.out.Phases, later...) }()

	run, pilot := m.demonstrations()
	played := estimate.Phase{
		Name: stage1 + ", demonstrations", Lanes: max(m.lanes, 1), Units: pilot, Low: run, Total: run,
	}
	played.Work, played.Wall = work(of["Demonstrate"])
	played.Places = played.Work
	m.phase(played)

	for level := 1; level <= runs.Levels; level++ {
		if m.asked[level] > 0 {
			if err := m.levelPhases(level); err != nil {
				return err
			}
		}
	}

	return m.trainingPhase(of["TrainChunk"])
}

// trainingPhase adds the training of stage 1.
func (m *measuring) trainingPhase(all []did) error {
	_, made := optimiserSteps(m.pilot)
	p := estimate.Phase{
		Name: stage1 + ", training", Lanes: 1, Devices: m.devices(),
		Units: made, Jobs: float64(chunks(m.spec)), JobsLow: float64(leastChunks(m.spec)),
	}
	p.Low, p.Total = optimiserSteps(m.spec)
	p.Work, p.Wall = work(all)
	steps := 0.0
	for _, d := range all {
		u, err := read[struct{ StepSeconds float64 }](d.result)
		if err != nil {
			return err
		}
		steps += u.StepSeconds * made / float64(len(all))
	}
	p.Begins(steps, float64(len(all)))
	m.phase(p)

	return nil
}

// levelPhases adds what the data of a level of stage 1 took.
func (m *measuring) levelPhases(level int) error {
	of, err := m.done(fmt.Sprintf("/finetune/level-%d", level))
	if err != nil {
		return err
	}
	run, pilot := m.demonstrations()
	explored := estimate.Phase{
		Name: fmt.Sprintf(stage1+", exploration (level %d)", level), Lanes: max(m.lanes, 1),
		Units: pilot, Low: run, Total: run,
	}
	explored.Work, explored.Wall = work(of["Explore"])
	explored.Places = explored.Work
	m.phase(explored)

	screens := m.screens(level)
	written := estimate.Phase{
		Name: fmt.Sprintf(stage1+", data of level %d", level), Lanes: lanes(of["Synthesize"]),
		Units: m.asked[level], Low: screens, Total: screens,
	}
	written.Work, written.Wall = work(of["Synthesize"])
	m.phase(written)

	return nil
}

// phase adds a phase that took time.
func (m *measuring) phase(p estimate.Phase) {
	if p.Wall > 0 {
		m.out.Phases = append(m.out.Phases, p)
	}
}

// devices returns the accelerators that one training job holds: the options of some trainers say so.
func (m *measuring) devices() float64 {
	var o struct {
		Devices float64 `json:"devices"`
	}
	_ = json.Unmarshal(m.spec.Trainer.Options, &o) // options of another form name none

	return o.Devices
}
