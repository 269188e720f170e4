package view

import (
	"context"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/collabui/collabui/internal/records/runs"
)

// maxAnswers bounds the text of an episode's answers in a document for searching, in bytes.
const maxAnswers = 20_000

// answers returns the distinct answers of an episode, as people search them.
func (e Episode) answers() string {
	var texts []string
	for _, step := range e.Steps {
		for _, cell := range step.Decision.Cells {
			texts = append(texts, cell.Text)
		}
	}

	return distinct(texts)
}

// evalAnswers returns the distinct answers of an evaluated episode.
func evalAnswers(e runs.EvalEpisode) string {
	var texts []string
	for _, step := range e.Steps {
		for _, cell := range step.Cells {
			texts = append(texts, cell.Text)
		}
	}

	return distinct(texts)
}

// distinct returns every text once, on lines of its own, without those that no longer fit into maxAnswers bytes.
func distinct(texts []string) string {
	var out strings.Builder
	seen := map[string]bool{}
	for _, text := range texts {
		if seen[text] || out.Len()+len(text) > maxAnswers {
			continue
		}
		seen[text] = true
		out.WriteString(text + "\n")
	}

	return out.String()
}

// evalTexts returns the answers of every evaluated episode, by number.
func evalTexts(all []runs.EvalEpisode) map[int]string {
	out := make(map[int]string, len(all))
	for i, evaluated := range all {
		out[i+1] = evalAnswers(evaluated)
	}

	return out
}

// epochAnswers returns the answers of every episode of an epoch that has begun, by slot.
func (l *Library) epochAnswers(ctx context.Context, run runs.Run, number int) (map[int]string, error) {
	r, err := newEpoch(ctx, l.Bucket, run, number)
	if err != nil {
		return nil, err
	}
	slots, err := r.begunSlots(ctx)
	if err != nil {
		return nil, err
	}
	texts := make([]string, len(slots))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for i, slot := range slots {
		group.Go(func() error {
			episode, _, err := r.read(ctx, slot)
			texts[i] = episode.answers()

			return err
		})
	}
	err = group.Wait()
	out := make(map[int]string, len(slots))
	for i, slot := range slots {
		out[slot] = texts[i]
	}

	return out, err
}
