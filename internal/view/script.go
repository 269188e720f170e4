package view

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
)

// plainScript returns a document as a script that hands it over to the page. Its JSON is also valid inside HTML: < and
// > are escaped.
func plainScript(path string, body any) ([]byte, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}

	return fmt.Appendf(nil, "collabui.got(%s,%s)\n", quoted(path), raw), nil
}

// packed is plainScript for a report: the JSON of the document is compressed by gzip and written as base64.
func packed(path string, body any) ([]byte, error) {
	var buf bytes.Buffer
	z, err := gzip.NewWriterLevel(&buf, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if err := json.NewEncoder(z).Encode(body); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	text := base64.StdEncoding.EncodeToString(buf.Bytes())

	return fmt.Appendf(nil, "collabui.unpack(%s,%q)\n", quoted(path), text), nil
}

// failedScript reports to the page why there is no document.
func failedScript(path, why string) []byte {
	return fmt.Appendf(nil, "collabui.failed(%s,%s)\n", quoted(path), quoted(why))
}

// quoted returns a text as a literal of a script.
func quoted(text string) []byte {
	raw, err := json.Marshal(text)
	if err != nil {
		panic(err) // every text has a JSON form
	}

	return raw
}

// index is the first document: the list of all runs, experiments and lines.
type index struct {
	Title       string  `json:"title"`
	Live        bool    `json:"live"`
	Foreign     bool    `json:"foreign,omitempty"` // trajectories of other programs
	Made        string  `json:"made"`
	Temporal    string  `json:"temporal,omitempty"` // address of the Temporal UI
	Runs        []entry `json:"runs"`
	Experiments []entry `json:"experiments"`
	Lines       []entry `json:"lines"`
}

type entry struct {
	Name string `json:"name"`
}

// newIndex returns an index of names.
func newIndex(names Names) index {
	entries := func(names []string) []entry {
		out := []entry{}
		for _, name := range names {
			out = append(out, entry{Name: name})
		}

		return out
	}

	return index{Runs: entries(names.Runs), Experiments: entries(names.Experiments), Lines: entries(names.Lines)}
}
