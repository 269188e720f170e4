package stage1

import (
	"context"
	"fmt"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/prompts"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/method/synth"
	"github.com/collabui/collabui/internal/records/runs"
)

// LevelRange is a part of a level's trajectories.
type LevelRange struct {
	LevelID
	From int
	To   int // exclusive
}

// SynthesisBatch is the number of trajectories per activity.
const SynthesisBatch = 20

// Synthesize writes the items of a level for the screens of some trajectories. Each trajectory is recorded once.
func (m *Models) Synthesize(ctx context.Context, id LevelRange) (synth.ItemCounts, error) {
	log := m.Log.For(id.Run, "level", id.Level, "from", id.From, "to", id.To)

	return activities.Do(ctx, log, func(ctx context.Context, progress activities.Progress) (synth.ItemCounts, error) {
		sum := synth.NewItemCounts()
		specification, err := m.Runs.Spec(ctx, id.Run, 0)
		if err != nil {
			return sum, err
		}
		if err := m.Runs.CheckVersions(ctx, specification, 0, nil); err != nil {
			return sum, err
		}
		plan, _, err := runs.Run(id.Run).LevelPlan(id.Level).Must(ctx, m.Bucket)
		if err != nil {
			return sum, err
		}

		for i := id.From; i < id.To; i++ {
			progress(fmt.Sprintf("level %d, trajectory %d", id.Level, i))
			batch, _, err := runs.Run(id.Run).Items(id.Level, i).Record(ctx, m.Bucket, func() (synth.Batch, error) {
				if err := m.Runs.CheckHold(ctx, id.Run); err != nil {
					return synth.Batch{}, err
				}

				return m.synthesize(ctx, specification, id.LevelID, plan, i)
			})
			if err != nil {
				return sum, err
			}
			sum.Add(batch.Counts)
		}

		return sum, nil
	})
}

// synthesize writes about the picked screens of trajectory i.
func (m *Models) synthesize(
	ctx context.Context, specification spec.Spec, id LevelID, plan runs.LevelPlan, i int,
) (synth.Batch, error) {
	trajectory, _, err := runs.Run(id.Run).Trajectory(i).Must(ctx, m.Bucket)
	if err != nil {
		return synth.Batch{}, err
	}
	var screens []synth.Screen
	for _, pick := range plan.Picks {
		if pick[0] == i {
			screens = append(screens, trajectory.Screens[pick[1]])
		}
	}
	if id.Level == 3 {
		return m.preferences(ctx, specification, id, trajectory, screens)
	}

	return m.items(ctx, specification, id, trajectory, screens)
}

// items writes levels 1 and 2.
func (m *Models) items(
	ctx context.Context, specification spec.Spec, id LevelID, trajectory runs.Trajectory, screens []synth.Screen,
) (synth.Batch, error) {
	batch := synth.Batch{Rows: []domain.Example{}, Counts: synth.NewItemCounts()}
	author, err := m.author(specification, id.Level)
	if err != nil {
		return batch, err
	}
	target, err := m.Feedback.Wording.Target(specification)
	if err != nil {
		return batch, err
	}

	slot := trajectory.Slot
	writing := synth.Writing{
		Author: author, Target: target, Level: id.Level, Items: specification.Synthesis.Questions,
		Row: domain.Example{Slot: slot.Number, Template: slot.Task.Template},
	}
	if id.Level == 2 {
		writing.Items = specification.Synthesis.Instructions
	}
	for _, screen := range screens {
		seed := domain.Seed(slot.Seed, "synthesis", id.Level, screen.Step)
		if err := batch.Write(ctx, writing, screen, seed); err != nil {
			return batch, err
		}
	}

	return batch, nil
}

// AuthorRoles are the roles that write a level.
var AuthorRoles = map[int]string{1: prompts.Questions, 2: prompts.Instructions}

// author returns the author of level 1 or 2: fixed rules, or a model.
func (m *Models) author(specification spec.Spec, level int) (synth.Author, error) {
	if specification.Synthesis.Author == spec.RoleTemplate {
		return synth.Template{}, nil
	}

	model, prompt, err := m.Feedback.Endpoints.For(specification, specification.Synthesis.Author, AuthorRoles[level])
	settings := specification.Models[specification.Synthesis.Author]

	return synth.Model{
		Chat: model, Prompt: prompt, Images: settings.Images, Temperature: settings.Temperature,
		Forms: prompts.FormsOf(string(specification.Family())), Limits: specification.Prompt,
	}, err
}
