package rows

import (
	"encoding/json"
	"io"

	"github.com/collabui/collabui/domain"
)

// Fields of rows are in the order of their names: rows used to be written from maps, and their bytes stay the same.

// ShareGPTRow is a row of LLaMA-Factory's format sharegpt. Without a ranking the answer is the last of the messages.
type ShareGPTRow struct {
	Chosen   *Message  `json:"chosen,omitempty"`
	Images   []string  `json:"images,omitzero"`
	Messages []Message `json:"messages"`
	Rejected *Message  `json:"rejected,omitempty"`
}

func (s Set) sharegpt(p domain.Pair, ranking, images bool) ShareGPTRow {
	answer := Message{Role: Assistant, Content: p.Chosen}
	row := ShareGPTRow{
		Images: imagesOf(p, images),
		Messages: []Message{
			{Role: System, Content: s.System},
			{Role: User, Content: instruction(p)},
		},
	}

	if ranking {
		row.Chosen = &answer
		row.Rejected = &Message{Role: Assistant, Content: p.Rejected}
	} else {
		row.Messages = append(row.Messages, answer)
	}

	return row
}

// AlpacaRow is a row of LLaMA-Factory's format alpaca. A ranking has Chosen and Rejected in place of Output.
type AlpacaRow struct {
	Chosen      *string  `json:"chosen,omitempty"`
	Images      []string `json:"images,omitzero"`
	Input       string   `json:"input"`
	Instruction string   `json:"instruction"`
	Output      *string  `json:"output,omitempty"`
	Rejected    *string  `json:"rejected,omitempty"`
	System      string   `json:"system"`
}

func (s Set) alpaca(p domain.Pair, ranking, images bool) AlpacaRow {
	row := AlpacaRow{Images: imagesOf(p, images), Instruction: instruction(p), System: s.System}
	if ranking {
		row.Chosen = &p.Chosen
		row.Rejected = &p.Rejected
	} else {
		row.Output = &p.Chosen
	}

	return row
}

// ImagePlace is where LLaMA-Factory puts an image into a message.
const ImagePlace = "<image>"

// instruction returns the user's message for LLaMA-Factory, with the place of an image after the text, where chat
// endpoints get it, too.
func instruction(p domain.Pair) string {
	if p.Image != "" {
		return p.Prompt + ImagePlace
	}

	return p.Prompt
}

// InfoFile is the name of the file that describes data sets to LLaMA-Factory.
const InfoFile = "dataset_info.json"

// Info writes dataset_info.json, which describes the files of sets to LLaMA-Factory.
func Info(w io.Writer, sets ...Set) error {
	info := map[string]entry{}
	for _, s := range sets {
		for _, f := range s.Files() {
			if f.Dataset != "" {
				info[f.Dataset] = describe(f, s.images())
			}
		}
	}

	raw, err := json.MarshalIndent(info, "", "  ")
	if err == nil {
		_, err = w.Write(append(raw, '\n'))
	}

	return err
}

// entry is a data set of dataset_info.json.
type entry struct {
	Columns    map[string]string `json:"columns"`
	FileName   string            `json:"file_name"`
	Formatting Format            `json:"formatting"`
	Ranking    bool              `json:"ranking,omitempty"`
	Tags       map[string]string `json:"tags,omitempty"`
}

func describe(f File, images bool) entry {
	e := entry{Columns: map[string]string{}, FileName: f.Name, Formatting: f.Format, Ranking: f.Ranking}

	switch f.Format {
	case ShareGPT:
		e.Columns["messages"] = "messages"
		e.Tags = map[string]string{
			"role_tag":      "role",
			"content_tag":   "content",
			"user_tag":      string(User),
			"assistant_tag": string(Assistant),
			"system_tag":    string(System),
		}
	case Alpaca:
		e.Columns["prompt"], e.Columns["query"], e.Columns["system"] = "instruction", "input", "system"
		if !f.Ranking {
			e.Columns["response"] = "output"
		}
	}
	if f.Ranking {
		e.Columns["chosen"], e.Columns["rejected"] = "chosen", "rejected"
	}
	if images {
		e.Columns["images"] = "images"
	}

	return e
}
