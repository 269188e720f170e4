package activities

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/prompts"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/method/synth"
	"github.com/collabui/collabui/internal/policy/endpoints"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// LevelID names the data set of a level; Chunk is the level job that it is made for.
type LevelID struct {
	Run   string
	Level int
	Chunk int
}

// PlanLevel draws the screens of a level from all trajectories, and returns their number.
func (c *Control) PlanLevel(ctx context.Context, id LevelID) (int, error) {
	return do(ctx, c.log(id.Run, "level", id.Level), func(ctx context.Context, _ say) (int, error) {
		s, err := c.spec(ctx, id.Run, 0)
		if err != nil {
			return 0, err
		}
		p, _, err := runs.Run(id.Run).LevelPlan(id.Level).Record(ctx, c.Bucket, func() (runs.LevelPlan, error) {
			ts, err := c.trajectories(ctx, s)

			return planLevel(s, id.Level, ts), err
		})

		return len(p.Picks), err
	})
}

// trajectories reads all tasks that the UI agent played.
func (c *Control) trajectories(ctx context.Context, s spec.Spec) ([]runs.Trajectory, error) {
	out := make([]runs.Trajectory, s.FineTune.Demonstrations)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallelReads)
	for i := range out {
		g.Go(func() (err error) {
			out[i], _, err = runs.Run(s.Name).Trajectory(i).Must(ctx, c.Bucket)
			endpoints.Progress(ctx, fmt.Sprintf("trajectory %d is read", i))

			return err
		})
	}

	return out, g.Wait()
}

// planLevel keeps a share of the first screens (levels 1 and 2) or the steps of successful trajectories (level 3), and
// of those as many as the specification allows.
func planLevel(s spec.Spec, level int, trajectories []runs.Trajectory) runs.LevelPlan {
	p := runs.LevelPlan{Level: level, Counts: synth.NewItemCounts(), Picks: [][2]int{}}
	for i, t := range trajectories {
		if t.Failed != "" {
			p.Counts.Unplayed++
		}
		for k := range t.Screens {
			p.Counts.Screens++
			switch {
			case level == 3 && !t.Success:
				p.Counts.Failed++
			case level < 3 && k == 0 && domain.Rand(t.Slot.Seed, "keep first").Float64() >= s.Synthesis.KeepFirst:
				p.Counts.First++
			default:
				p.Picks = append(p.Picks, [2]int{i, k})
			}
		}
	}

	limit := s.Synthesis.Screens
	if level == 3 {
		limit = s.Synthesis.Pairs
	}
	n := len(p.Picks)
	if n <= limit {
		return p
	}

	at := domain.Rand(s.Seed, "screens", level == 3).Perm(n)[:limit]
	slices.Sort(at)
	kept := make([][2]int, limit)
	for i, k := range at {
		kept[i] = p.Picks[k]
	}
	p.Picks, p.Counts.Over = kept, n-limit

	return p
}

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
	log := m.log(id.Run, "level", id.Level, "from", id.From, "to", id.To)

	return do(ctx, log, func(ctx context.Context, say say) (synth.ItemCounts, error) {
		sum := synth.NewItemCounts()
		s, err := m.spec(ctx, id.Run, 0)
		if err != nil {
			return sum, err
		}
		if err := m.sameAs(ctx, s, 0, nil); err != nil {
			return sum, err
		}
		plan, _, err := runs.Run(id.Run).LevelPlan(id.Level).Must(ctx, m.Bucket)
		if err != nil {
			return sum, err
		}

		for i := id.From; i < id.To; i++ {
			say(fmt.Sprintf("level %d, trajectory %d", id.Level, i))
			b, _, err := runs.Run(id.Run).Items(id.Level, i).Record(ctx, m.Bucket, func() (synth.Batch, error) {
				if err := m.held(ctx, id.Run); err != nil {
					return synth.Batch{}, err
				}

				return m.synthesize(ctx, s, id.LevelID, plan, i)
			})
			if err != nil {
				return sum, err
			}
			sum.Add(b.Counts)
		}

		return sum, nil
	})
}

// synthesize writes about the picked screens of trajectory i.
func (m *Models) synthesize(
	ctx context.Context, s spec.Spec, id LevelID, plan runs.LevelPlan, i int,
) (synth.Batch, error) {
	t, _, err := runs.Run(id.Run).Trajectory(i).Must(ctx, m.Bucket)
	if err != nil {
		return synth.Batch{}, err
	}
	var screens []synth.Screen
	for _, p := range plan.Picks {
		if p[0] == i {
			screens = append(screens, t.Screens[p[1]])
		}
	}
	if id.Level == 3 {
		return m.preferences(ctx, s, id, t, screens)
	}

	return m.items(ctx, s, id, t, screens)
}

// items writes levels 1 and 2.
func (m *Models) items(
	ctx context.Context, s spec.Spec, id LevelID, t runs.Trajectory, screens []synth.Screen,
) (synth.Batch, error) {
	b := synth.Batch{Rows: []domain.Example{}, Counts: synth.NewItemCounts()}
	author, err := m.author(s, id.Level)
	if err != nil {
		return b, err
	}
	target, err := m.Wording.target(s)
	if err != nil {
		return b, err
	}

	n := s.Synthesis.Questions
	if id.Level == 2 {
		n = s.Synthesis.Instructions
	}
	for _, screen := range screens {
		row := domain.Example{Slot: t.Slot.Number, Template: t.Slot.Task.Template}
		seed := domain.Seed(t.Slot.Seed, "synthesis", id.Level, screen.Step)
		if err := b.Write(ctx, author, target, id.Level, n, row, screen, seed); err != nil {
			return b, err
		}
	}

	return b, nil
}

// authors are the roles that write a level.
var authors = map[int]string{1: prompts.Questions, 2: prompts.Instructions}

// author returns who writes level 1 or 2: fixed rules, or a model.
func (m *Models) author(s spec.Spec, level int) (synth.Author, error) {
	if s.Synthesis.Author == spec.RoleTemplate {
		return synth.Template{}, nil
	}

	model, p, err := m.Endpoints.For(s, s.Synthesis.Author, authors[level])
	settings := s.Models[s.Synthesis.Author]

	return synth.Model{
		Chat: model, Prompt: p, Images: settings.Images, Temperature: settings.Temperature,
		Forms: prompts.FormsOf(string(s.Family())),
		Image: func(ctx context.Context, digest string) ([]byte, error) { return store.GetBlob(ctx, m.Bucket, digest) },
	}, err
}
