package activities

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/prompts"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/method/synth"
	"github.com/collabui/collabui/internal/process/events"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
)

// LevelID names the data set of a level; Chunk is the stage that it is made for.
type LevelID struct {
	Run   string
	Level int
	Chunk int
}

// PlanLevel draws the screens of a level from all trajectories, and gives their number.
func (c *Control) PlanLevel(ctx context.Context, id LevelID) (int, error) {
	_, stop := heartbeat(ctx)
	defer stop()
	s, err := c.spec(ctx, id.Run)
	if err != nil {
		return done(0, err)
	}
	p, _, err := runs.Run(id.Run).LevelPlan(id.Level).Record(ctx, c.Bucket, func() (runs.LevelPlan, error) {
		trs, err := trajectories(ctx, c.Bucket, s)
		return planLevel(s, id.Level, trs), err
	})
	return done(len(p.Picks), err)
}

func trajectories(ctx context.Context, b store.Bucket, s spec.Spec) ([]runs.Trajectory, error) {
	out := make([]runs.Trajectory, s.FineTune.Demonstrations)
	err := parallel(ctx, len(out), 8, func(ctx context.Context, i int) (err error) {
		out[i], _, err = runs.Run(s.Name).Trajectory(i).Read(ctx, b)
		return err
	})
	return out, err
}

// planLevel keeps a share of first screens (levels 1 and 2), the steps of successful trajectories (level 3), and of those as many as the specification allows.
func planLevel(s spec.Spec, level int, trs []runs.Trajectory) runs.LevelPlan {
	p := runs.LevelPlan{Level: level, Counts: synth.NewItemCounts(), Picks: [][2]int{}}
	limit := s.Synthesis.Screens
	if level == 3 {
		limit = s.Synthesis.Pairs
	}
	for i, t := range trs {
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
	if n := len(p.Picks); n > limit {
		at := domain.Rand(s.Seed, "screens", level == 3).Perm(n)[:limit]
		slices.Sort(at)
		kept := make([][2]int, limit)
		for i, k := range at {
			kept[i] = p.Picks[k]
		}
		p.Picks, p.Counts.Over = kept, n-limit
	}
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

// Synthesize writes the items of a level for the screens of some trajectories, each trajectory recorded once.
func (m *Models) Synthesize(ctx context.Context, id LevelRange) (synth.ItemCounts, error) {
	say, stop := heartbeat(ctx)
	defer stop()
	sum := synth.NewItemCounts()
	s, err := m.spec(ctx, id.Run)
	if err != nil {
		return done(sum, err)
	}
	plan, _, err := runs.Run(id.Run).LevelPlan(id.Level).Read(ctx, m.Bucket)
	if err != nil {
		return done(sum, err)
	}
	for i := id.From; i < id.To; i++ {
		say(fmt.Sprintf("level %d, trajectory %d", id.Level, i))
		b, _, err := store.RecordOnce(ctx, m.Bucket, itemsKey(id.LevelID, i), func() (synth.Batch, error) {
			t, _, err := runs.Run(id.Run).Trajectory(i).Read(ctx, m.Bucket)
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
				return m.preferences(ctx, s, id.LevelID, t, screens)
			}
			return m.items(ctx, s, id.LevelID, t, screens)
		})
		if err != nil {
			return done(sum, err)
		}
		sum.Add(b.Counts)
	}
	return done(sum, nil)
}

func itemsKey(id LevelID, i int) string {
	return runs.Run(id.Run).Items(id.Level, i).Key
}

// items are levels 1 and 2.
func (m *Models) items(ctx context.Context, s spec.Spec, id LevelID, t runs.Trajectory, screens []synth.Screen) (synth.Batch, error) {
	b := synth.Batch{Rows: []domain.Pair{}, Counts: synth.NewItemCounts()}
	author, err := m.author(s, id.Level)
	if err != nil {
		return b, err
	}
	n := s.Synthesis.Questions
	if id.Level == 2 {
		n = s.Synthesis.Instructions
	}
	pol, err := m.policy(s)
	if err != nil {
		return b, err
	}
	for _, sc := range screens {
		row := domain.Pair{Slot: t.Slot.Number, Template: t.Slot.Task.Template}
		if err := b.Write(ctx, author, pol, id.Level, n, row, sc, domain.Seed(t.Slot.Seed, "synthesis", id.Level, sc.Step)); err != nil {
			return b, err
		}
	}
	return b, nil
}

// authors are the roles of who writes a level.
var authors = map[int]string{1: prompts.Questions, 2: prompts.Instructions}

// author is who writes level 1 or 2.
func (m *Models) author(s spec.Spec, level int) (synth.Author, error) {
	if s.Synthesis.Author == spec.RoleTemplate {
		return synth.Template{}, nil
	}
	chat, p, err := m.endpoint(s, s.Synthesis.Author, authors[level])
	model := s.Models[s.Synthesis.Author]
	return synth.Model{Chat: chat, Prompt: p, Images: model.Images, Temperature: model.Temperature, Forms: prompts.FormsOf(string(s.Family())),
		Image: func(ctx context.Context, digest string) ([]byte, error) { return store.GetBlob(ctx, m.Bucket, digest) }}, err
}

// Assemble writes the data set of a level: all items in the order of trajectories, duplicates struck out, with its card; or the data set that was given.
func (c *Control) Assemble(ctx context.Context, id LevelID) (synth.Card, error) {
	_, stop := heartbeat(ctx)
	defer stop()
	set, _, err := runs.Run(id.Run).Level(id.Level).Record(ctx, c.Bucket, func() (runs.LevelSet, error) {
		s, err := c.spec(ctx, id.Run)
		if err != nil {
			return runs.LevelSet{}, err
		}
		rows, card := []domain.Pair{}, synth.Card{Level: id.Level, Counts: synth.NewItemCounts()}
		if card.Imported = s.FineTune.Data.Of(id.Level); card.Imported != "" {
			rows, err = c.imported(ctx, card.Imported, id.Level)
		} else {
			rows, err = c.synthesised(ctx, s, id, &card)
		}
		if err != nil {
			return runs.LevelSet{}, err
		}
		card.Describe(rows)
		raw, err := json.Marshal(rows)
		if err != nil {
			return runs.LevelSet{}, fault.As(fault.Fatal, err)
		}
		body, err := store.PutBlob(ctx, c.Bucket, raw)
		return runs.LevelSet{Body: body, Card: card}, err
	})
	if err == nil {
		c.emit(id.Run, events.Data{Level: id.Level, Rows: set.Card.Rows, Dropped: set.Card.Counts.Proposed - set.Card.Counts.Kept})
	}
	return done(set.Card, err)
}

func (c *Control) synthesised(ctx context.Context, s spec.Spec, id LevelID, card *synth.Card) ([]domain.Pair, error) {
	plan, _, err := runs.Run(id.Run).LevelPlan(id.Level).Read(ctx, c.Bucket)
	if err != nil {
		return nil, err
	}
	batches := make([]synth.Batch, s.FineTune.Demonstrations)
	if err := parallel(ctx, len(batches), 8, func(ctx context.Context, i int) (err error) {
		batches[i], _, err = store.Read[synth.Batch](ctx, c.Bucket, itemsKey(id, i))
		return err
	}); err != nil {
		return nil, err
	}
	card.Counts.Add(plan.Counts)
	rows := []domain.Pair{}
	for _, b := range batches {
		rows = append(rows, b.Rows...)
		card.Counts.Add(b.Counts)
	}
	card.Agent = rules.RoleName(s, s.Synthesis.Agent, "the environment's expert (privileged)")
	roles := []string{}
	switch {
	case id.Level == 3:
		card.Adversary = rules.RoleName(s, s.Adversary.Model, fmt.Sprintf("the policy of the stage before, at temperature %v", s.Adversary.Temperature))
		card.Critic = rules.CriticName(s, c.Catalog)
		if s.Adversary.Model != spec.RolePolicy {
			roles = append(roles, prompts.Adversary)
		}
		if s.Critic.Model != spec.RoleOracle {
			roles = append(roles, prompts.Critic)
		}
	default:
		card.Author = rules.RoleName(s, s.Synthesis.Author, "fixed rules")
		if s.Synthesis.Author != spec.RoleTemplate {
			roles = append(roles, authors[id.Level])
		}
	}
	card.Prompts = map[string]string{}
	for _, role := range roles {
		p, err := rules.Prompt(s, role)
		if err != nil {
			return nil, err
		}
		card.Prompts[role] = "version " + p.Version + ", " + p.Digest
	}
	kind := func(p domain.Pair) string { return synth.KindOf(id.Level, p) }
	rows = synth.Dedupe(rows, &card.Counts, kind)
	if why := card.Counts.Problem(); why != "" {
		return nil, fault.New(fault.Fatal, "the counters of level %d do not add up: %s", id.Level, why)
	}
	return rows, nil
}

// imported reads a data set of one's own, which was checked when it was imported.
func (c *Control) imported(ctx context.Context, digest string, level int) ([]domain.Pair, error) {
	raw, err := store.GetBlob(ctx, c.Bucket, digest)
	if missing(err) {
		return nil, fault.New(fault.Invalid, "finetune.data.level%d: no data set %s stands in the store; bring one with `collabui import FILE`", level, digest)
	}
	if err != nil {
		return nil, err
	}
	rows, err := synth.ReadRows(digest, raw, level)
	return rows, fault.As(fault.Invalid, err)
}
