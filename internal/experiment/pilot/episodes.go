package pilot

import (
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store/runs"
)

// episodes reads the pilot's rollouts.
func (m *measuring) episodes() error {
	for epoch := 1; epoch <= m.pilot.Epochs; epoch++ {
		for slot := 1; slot <= m.pilot.Slots; slot++ {
			if err := m.episode(epoch, slot); err != nil {
				return err
			}
		}
	}

	return nil
}

// episode reads one rollout: its length, cells, labels and pairs.
func (m *measuring) episode(epoch, slot int) error {
	episode, _, err := m.run.Episode(m.ctx, m.bucket, epoch, slot)
	if err != nil || episode.Failed != "" {
		return err
	}
	m.out.Steps.Pilot = append(m.out.Steps.Pilot, float64(episode.Outcome.Steps))
	m.steps += float64(episode.Outcome.Steps)
	if !episode.Outcome.Success {
		m.out.Steps.Failed = append(m.out.Steps.Failed, float64(episode.Outcome.Steps))
	}

	recorded, err := episode.ReadSteps(m.ctx, m.bucket)
	if err != nil {
		return err
	}
	for _, step := range recorded {
		for _, cell := range step.Decision.Cells {
			m.cells++
			m.tokens = append(m.tokens, float64(cell.Usage.Prompt+cell.Usage.Answer))
		}
	}

	credits, _, err := m.run.Credits(epoch, slot).Must(m.ctx, m.bucket)
	if err != nil {
		return err
	}
	pairs, _, err := m.run.Pairs(epoch, slot).Must(m.ctx, m.bucket)
	if err != nil {
		return err
	}
	m.audits += float64(len(credits.Audit) + len(pairs.Audit))
	m.proposals += float64(len(pairs.Calls))
	m.pairs += float64(len(pairs.Pairs))

	return nil
}

// stage1 reads trajectories, demonstrations and data cards, then scales the calls of all roles.
func (m *measuring) stage1() error {
	for i := range m.pilot.FineTune.Demonstrations {
		if err := m.task(i); err != nil {
			return err
		}
	}
	levels, err := m.run.Levels(m.ctx, m.bucket)
	if err != nil {
		return err
	}
	for _, set := range levels {
		m.asked[set.Card.Level] = float64(set.Card.Counts.Asked)
	}
	m.roles()

	return m.stage1Phases()
}

// task reads how training task i was played. Stage 1 leaves a trajectory with levels, a demonstration without, and
// neither if its data are given.
func (m *measuring) task(i int) error {
	trajectory, there, err := m.run.Trajectory(i).Sure(m.ctx, m.bucket)
	if err != nil {
		return err
	}
	if there {
		screens := float64(len(trajectory.Screens))
		m.screenCount += screens
		if m.spec.Synthesis.Agent == spec.RoleExpert {
			m.out.Steps.Expert = append(m.out.Steps.Expert, screens)
		}

		return nil
	}

	demonstration, there, err := m.run.Demonstration(i).Sure(m.ctx, m.bucket)
	if err != nil || !there {
		return err
	}
	m.out.Steps.Expert = append(m.out.Steps.Expert, float64(len(demonstration.Pairs)))

	return nil
}

// screens returns the number of screens that a level of the run is written about.
func (m *measuring) screens(level int) float64 {
	limit := m.spec.Synthesis.Screens
	if level == runs.Levels {
		limit = m.spec.Synthesis.Pairs
	}
	run, pilot := m.demonstrations()

	return min(m.screenCount*run/pilot, float64(limit))
}
