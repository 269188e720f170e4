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

func (s Set) sharegpt(pair domain.Example, ranking, images bool) ShareGPTRow {
	answer := Message{Role: Assistant, Content: pair.Chosen}
	row := ShareGPTRow{
		Images: imagesOf(pair, images),
		Messages: []Message{
			{Role: System, Content: s.System},
			{Role: User, Content: instruction(pair)},
		},
	}

	if ranking {
		row.Chosen = &answer
		row.Rejected = &Message{Role: Assistant, Content: pair.Rejected}
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

func (s Set) alpaca(pair domain.Example, ranking, images bool) AlpacaRow {
	row := AlpacaRow{Images: imagesOf(pair, images), Instruction: instruction(pair), System: s.System}
	if ranking {
		row.Chosen = &pair.Chosen
		row.Rejected = &pair.Rejected
	} else {
		row.Output = &pair.Chosen
	}

	return row
}

// ImagePlace is where LLaMA-Factory puts an image into a message.
const ImagePlace = "<image>"

// instruction returns the user's message for LLaMA-Factory, with the place of an image after the text, where chat
// endpoints get it, too.
func instruction(pair domain.Example) string {
	if pair.Image != "" {
		return pair.Prompt + ImagePlace
	}

	return pair.Prompt
}

// InfoFile is the name of the file that describes data sets to LLaMA-Factory.
const InfoFile = "dataset_info.json"

// Info writes dataset_info.json, which describes the files of sets to LLaMA-Factory.
func Info(out io.Writer, sets ...Set) error {
	info := map[string]entry{}
	for _, set := range sets {
		for _, file := range set.Files() {
			if file.Dataset != "" {
				info[file.Dataset] = describe(file, set.images())
			}
		}
	}

	raw, err := json.MarshalIndent(info, "", "  ")
	if err == nil {
		_, err = out.Write(append(raw, '\n'))
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

func describe(file File, images bool) entry {
	described := entry{
		Columns: map[string]string{}, FileName: file.Name, Formatting: file.Format, Ranking: file.Ranking,
	}

	switch file.Format {
	case ShareGPT:
		described.Columns["messages"] = "messages"
		described.Tags = map[string]string{
			"role_tag":      "role",
			"content_tag":   "content",
			"user_tag":      string(User),
			"assistant_tag": string(Assistant),
			"system_tag":    string(System),
		}
	case Alpaca:
		described.Columns["prompt"] = "instruction"
		described.Columns["query"] = "input"
		described.Columns["system"] = "system"
		if !file.Ranking {
			described.Columns["response"] = "output"
		}
	}
	if file.Ranking {
		described.Columns["chosen"], described.Columns["rejected"] = "chosen", "rejected"
	}
	if images {
		described.Columns["images"] = "images"
	}

	return described
}
