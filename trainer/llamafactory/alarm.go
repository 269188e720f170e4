package llamafactory

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/trainer/external"
)

// examples is how the program says how many rows it will train on.
var examples = regexp.MustCompile(`Num examples = ([0-9,]+)`)

// Alarm compares the rows that the program trains on with those that it was given.
func (t *Tool) Alarm(f external.Folder, said string) error {
	m := examples.FindStringSubmatch(said)
	if m == nil {
		return nil
	}
	got, err := strconv.Atoi(strings.ReplaceAll(m[1], ",", ""))
	if err != nil {
		return nil
	}
	raw, err := os.ReadFile(filepath.Join(f.Path, rowsFile))
	if given, bad := strconv.Atoi(string(raw)); err == nil && bad == nil && given != got {
		return fault.New(fault.Invalid, "LLaMA-Factory trains on %d rows, it was given %d: its log says which it dropped", got, given)
	}
	return nil
}

// rowsFile holds the number of rows that a job was given.
const rowsFile = "rows"
