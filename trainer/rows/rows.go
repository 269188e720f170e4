// Package rows is the only home of the row formats of other programs: LLaMA-Factory's sharegpt and alpaca, each for SFT
// and as a ranking, with dataset_info.json, and conversational preference rows, which TRL reads. A row is one line of a
// JSONL file, made from one domain.Example. Trainers and the export command write the same rows.
//
// It does no I/O.
package rows

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/collabui/collabui/domain"
)

// Set is a data set.
type Set struct {
	// Name is the beginning of the names of the set's files, for example level1 or epoch3-agent0.
	Name string
	// System is the system message of every prompt. It is always written, because chat templates of servers and
	// trainers would otherwise put in different ones.
	System string
	Pairs  []domain.Example
}

// Format is the form of a file's rows.
type Format string

// The formats.
const (
	ShareGPT   Format = "sharegpt"
	Alpaca     Format = "alpaca"
	Preference Format = "preference"
)

// File is one file of a set.
type File struct {
	// Name is the file's name, for example level3-dpo.sharegpt.jsonl.
	Name string
	// Dataset is the name in dataset_info.json; it is empty for preference files.
	Dataset string
	Format  Format
	// Ranking reports that the rows hold chosen and rejected answers; pairs without a rejected one are left out.
	// Otherwise they hold chosen answers only, without samples that GRPO makes less probable. Preference rows always
	// hold both where there are both, and all samples.
	Ranking bool
}

// File returns the file of a set in a format.
func (s Set) File(format Format, ranking bool) File {
	if format == Preference {
		return File{Name: s.Name + ".preference.jsonl", Format: format}
	}

	stem := s.Name
	switch {
	case ranking:
		stem += "-dpo"
	case s.ranked():
		stem += "-sft"
	}

	file := File{
		Name:    fmt.Sprintf("%s.%s.jsonl", stem, format),
		Dataset: "collabui_" + strings.ReplaceAll(stem, "-", "_"),
		Format:  format,
		Ranking: ranking,
	}
	if format == Alpaca {
		file.Dataset += "_alpaca"
	}

	return file
}

// Files returns all files of a set. A set with rejected answers has rankings in addition to the files for SFT.
func (s Set) Files() []File {
	out := []File{s.File(ShareGPT, false), s.File(Alpaca, false)}
	if s.ranked() {
		out = append(out, s.File(ShareGPT, true), s.File(Alpaca, true))
	}

	return append(out, s.File(Preference, false))
}

// Export returns the bytes of all files of sets and of dataset_info.json, by name.
func Export(sets ...Set) (map[string][]byte, error) {
	out := map[string][]byte{}
	for _, set := range sets {
		for _, file := range set.Files() {
			var buffer bytes.Buffer
			if err := set.Encode(&buffer, file); err != nil {
				return nil, err
			}
			out[file.Name] = buffer.Bytes()
		}
	}

	var b bytes.Buffer
	if err := Info(&b, sets...); err != nil {
		return nil, err
	}
	out[InfoFile] = b.Bytes()

	return out, nil
}

// Encode writes the rows of one of the set's files. Control tokens in prompts and answers are broken, as they are where
// models are served: a page that shows one, or an agent that quotes it, ends no turn and stands for no image.
func (s Set) Encode(out io.Writer, file File) error {
	enc := json.NewEncoder(out)
	images := s.images()
	s.System = domain.BreakTokens(s.System)

	for _, pair := range s.Pairs {
		if file.Ranking && pair.Rejected == "" || file.Format != Preference && pair.Advantage < 0 {
			continue
		}
		pair.Prompt = domain.BreakTokens(pair.Prompt)
		pair.Chosen = domain.BreakTokens(pair.Chosen)
		pair.Rejected = domain.BreakTokens(pair.Rejected)

		var row any
		switch file.Format {
		case ShareGPT:
			row = s.sharegpt(pair, file.Ranking, images)
		case Alpaca:
			row = s.alpaca(pair, file.Ranking, images)
		case Preference:
			row = s.preference(pair, images)
		default:
			return fmt.Errorf("unknown format %q of rows", file.Format)
		}
		if err := enc.Encode(row); err != nil {
			return err
		}
	}

	return nil
}

// ranked reports whether the set has rejected answers.
func (s Set) ranked() bool {
	return slices.ContainsFunc(s.Pairs, func(example domain.Example) bool { return example.Rejected != "" })
}

// samples reports whether the set is of samples for GRPO.
func (s Set) samples() bool {
	return slices.ContainsFunc(s.Pairs, func(example domain.Example) bool { return example.Advantage != 0 })
}

// images reports whether the set has screenshots. Then every row of it has a list of images.
func (s Set) images() bool {
	return slices.ContainsFunc(s.Pairs, func(example domain.Example) bool { return example.Image != "" })
}

// Message is one turn of a conversation.
type Message struct {
	Role    Role   `json:"role"`
	Content string `json:"content"`
}

// Role says whose turn it is.
type Role string

// The roles.
const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
)

// ImageFile returns the name of a screenshot's file, relative to the folder of the data files.
func ImageFile(digest string) string { return "images/" + digest + ".png" }

// imagesOf returns the list of images of a row, which is nil in a set without any.
func imagesOf(pair domain.Example, images bool) []string {
	switch {
	case !images:
		return nil
	case pair.Image == "":
		return []string{}
	}

	return []string{ImageFile(pair.Image)}
}
