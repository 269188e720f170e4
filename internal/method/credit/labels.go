package credit

import "github.com/collabui/collabui/domain"

// LabelCounts counts labels of cells.
type LabelCounts struct {
	Positive, Negative, Uncertain int
}

// CountLabels counts the labels of an episode.
func CountLabels(steps []domain.Credit) LabelCounts {
	var counts LabelCounts
	for _, step := range steps {
		counts.Count(step.Labels)
	}

	return counts
}

// Count adds the labels of a step.
func (c *LabelCounts) Count(labels []domain.Label) {
	for _, label := range labels {
		switch label {
		case domain.Positive:
			c.Positive++
		case domain.Negative:
			c.Negative++
		default:
			c.Uncertain++
		}
	}
}

// Plus returns the sum of both counts.
func (c LabelCounts) Plus(other LabelCounts) LabelCounts {
	return LabelCounts{
		Positive:  c.Positive + other.Positive,
		Negative:  c.Negative + other.Negative,
		Uncertain: c.Uncertain + other.Uncertain,
	}
}

// PositiveShare returns the share of labels that are positive, or -1 if there are no labels.
func (c LabelCounts) PositiveShare() float64 {
	all := c.Positive + c.Negative + c.Uncertain
	if all == 0 {
		return -1
	}

	return float64(c.Positive) / float64(all)
}
