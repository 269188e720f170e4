package mutants

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// RecordFile is the file, in the folder of this package, that records when every mutant was last found. `make mutants`
// writes it.
const RecordFile = "found.json"

// A Found records when a test last found a mutant.
type Found struct {
	Name    string  `json:"name"` // of the mutant
	On      string  `json:"on"`   // the day, UTC
	Commit  string  `json:"commit"`
	By      string  `json:"by"` // the first test that failed
	Seconds float64 `json:"seconds"`
}

// ReadRecord reads the entries of a record, sorted by name. If the file does not exist, it returns no entries.
func ReadRecord(file string) ([]Found, error) {
	var all []Found
	raw, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &all)
	}

	return all, err
}

// WriteRecord adds an entry to a record, replacing an older entry of the same mutant, and removes the entries of
// mutants that no longer exist.
func WriteRecord(file string, found Found, mutants []Mutant) error {
	all, err := ReadRecord(file)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(f Found) bool {
		return f.Name == found.Name || !slices.ContainsFunc(mutants, func(m Mutant) bool { return m.Name == f.Name })
	})
	all = append(all, found)
	slices.SortFunc(all, func(a, b Found) int { return strings.Compare(a.Name, b.Name) })
	raw, err := json.MarshalIndent(all, "", "\t")
	if err != nil {
		return err
	}

	return os.WriteFile(file, append(raw, '\n'), 0o644)
}
