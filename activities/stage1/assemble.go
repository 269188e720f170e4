package stage1

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/prompts"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/method/synth"
	"github.com/collabui/collabui/internal/observe/events"
	"github.com/collabui/collabui/internal/policy/endpoints"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// Assemble writes the data set of a level with its card: all items in the order of trajectories without duplicates, or
// the data set that was imported.
func (c *Control) Assemble(ctx context.Context, id LevelID) (synth.Card, error) {
	log := c.Log.For(id.Run, "level", id.Level)

	return activities.Do(ctx, log, func(ctx context.Context, _ activities.Progress) (synth.Card, error) {
		set, _, err := runs.Run(id.Run).Level(id.Level).Record(ctx, c.Bucket, func() (runs.LevelSet, error) {
			return c.level(ctx, id)
		})
		if err == nil {
			dropped := set.Card.Counts.Proposed - set.Card.Counts.Kept
			c.Emit.Send(id.Run, events.Data{Level: id.Level, Rows: set.Card.Rows, Dropped: dropped})
		}

		return set.Card, err
	})
}

// level makes the data set of a level.
func (c *Control) level(ctx context.Context, id LevelID) (runs.LevelSet, error) {
	specification, err := c.Runs.Spec(ctx, id.Run, 0)
	if err != nil {
		return runs.LevelSet{}, err
	}

	var rows []domain.Example
	card := synth.Card{Level: id.Level, Counts: synth.NewItemCounts()}
	card.Imported = specification.FineTune.Data.Of(id.Level)
	if card.Imported != "" {
		rows, err = c.imported(ctx, card.Imported, id.Level)
	} else {
		rows, err = c.synthesised(ctx, specification, id, &card)
	}
	if err != nil {
		return runs.LevelSet{}, err
	}

	card.Describe(rows)
	body, err := runs.PutPairs(ctx, c.Bucket, rows)

	return runs.LevelSet{Body: body, Card: card}, err
}

// synthesised reads the items of all trajectories and counts them on the card.
func (c *Control) synthesised(
	ctx context.Context, s spec.Spec, id LevelID, card *synth.Card,
) ([]domain.Example, error) {
	run := runs.Run(id.Run)
	plan, _, err := run.LevelPlan(id.Level).Must(ctx, c.Bucket)
	if err != nil {
		return nil, err
	}

	batches := make([]synth.Batch, s.FineTune.Demonstrations)
	reads, readCtx := errgroup.WithContext(ctx)
	reads.SetLimit(activities.ParallelReads)
	for i := range batches {
		reads.Go(func() (err error) {
			batches[i], _, err = run.Items(id.Level, i).Must(readCtx, c.Bucket)
			endpoints.Progress(ctx, fmt.Sprintf("the items of trajectory %d are read", i))

			return err
		})
	}
	if err := reads.Wait(); err != nil {
		return nil, err
	}

	card.Counts.Add(plan.Counts)
	rows := []domain.Example{}
	for _, batch := range batches {
		rows = append(rows, batch.Rows...)
		card.Counts.Add(batch.Counts)
	}
	if err := c.sign(s, card); err != nil {
		return nil, err
	}

	kindOf := func(example domain.Example) string { return synth.KindOf(id.Level, example) }
	rows = synth.Dedupe(rows, &card.Counts, kindOf)
	if why := card.Counts.Problem(); why != "" {
		return nil, fault.New(fault.Fatal, "the counters of level %d do not add up: %s", id.Level, why)
	}

	return rows, nil
}

// sign notes on a card the models of its level's roles, and their prompts.
func (c *Control) sign(specification spec.Spec, card *synth.Card) error {
	var roles []string
	card.Agent = rules.RoleName(specification, specification.Synthesis.Agent, "the environment's expert (privileged)")
	if card.Level == 3 {
		card.Adversary = rules.RoleName(specification, specification.Adversary.Model,
			fmt.Sprintf("the policy of the level job before, at temperature %v", specification.Adversary.Temperature))
		card.Critic = rules.CriticName(specification, c.Catalog)
		if specification.Adversary.Prompted() {
			roles = append(roles, prompts.Adversary)
		}
		if specification.Critic.Model != spec.RoleOracle {
			roles = append(roles, prompts.Critic)
		}
	} else {
		card.Author = rules.RoleName(specification, specification.Synthesis.Author, "fixed rules")
		if specification.Synthesis.Author != spec.RoleTemplate {
			roles = append(roles, AuthorRoles[card.Level])
		}
	}

	card.Prompts = map[string]string{}
	for _, role := range roles {
		prompt, err := rules.Prompt(specification, role)
		if err != nil {
			return err
		}
		card.Prompts[role] = "version " + prompt.Version + ", " + prompt.Digest
	}

	return nil
}

// imported reads a data set that was checked when it was imported.
func (c *Control) imported(ctx context.Context, digest string, level int) ([]domain.Example, error) {
	raw, err := store.GetBlob(ctx, c.Bucket, digest)
	if err != nil {
		return nil, fmt.Errorf("finetune.data.level%d: if `collabui import FILE` was never called with it, do so: %w",
			level, err)
	}
	imported, err := synth.ReadRows(digest, raw, level)

	return imported.Rows, fault.As(fault.Invalid, err)
}
