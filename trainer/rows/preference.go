package rows

import "github.com/collabui/collabui/domain"

// PreferenceRow is a conversational preference row. Without a rejected answer it serves SFT only. Its fields are in the
// order of their names, as in all rows.
type PreferenceRow struct {
	// Advantage and Completion belong to a sample, which has neither a chosen nor a rejected answer.
	Advantage  float64   `json:"advantage,omitempty"`
	Chosen     []Message `json:"chosen,omitempty"`
	Completion []Message `json:"completion,omitempty"`
	Images     []string  `json:"images,omitzero"`
	Meta       Meta      `json:"meta"`
	Prompt     []Message `json:"prompt"`
	Rejected   []Message `json:"rejected,omitempty"`
}

// Meta says where a row comes from.
type Meta struct {
	Agent    int     `json:"agent"`
	Slot     int     `json:"slot"`
	Source   string  `json:"source"`
	Step     int     `json:"step"`
	Template string  `json:"template"`
	Weight   float64 `json:"weight"`
}

func (s Set) preference(pair domain.Example, images bool) PreferenceRow {
	row := PreferenceRow{
		Images: imagesOf(pair, images),
		Meta: Meta{
			Agent:    pair.Agent,
			Slot:     pair.Slot,
			Source:   string(pair.Source),
			Step:     pair.Step,
			Template: pair.Template,
			Weight:   pair.Weight,
		},
		Prompt: []Message{{Role: System, Content: s.System}, {Role: User, Content: pair.Prompt}},
	}
	answer := []Message{{Role: Assistant, Content: pair.Chosen}}
	if pair.Advantage != 0 {
		row.Advantage = pair.Advantage
		row.Completion = answer

		return row
	}

	row.Chosen = answer
	if pair.Rejected != "" {
		row.Rejected = []Message{{Role: Assistant, Content: pair.Rejected}}
	}

	return row
}
