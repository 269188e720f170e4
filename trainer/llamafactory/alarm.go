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

// rowsFile holds the number of rows that a job was given.
const rowsFile = "rows"

// examples matches how the program reports the number of rows that it trains on, after it has printed one of them.
var examples = regexp.MustCompile(`\*{5} Running training \*{5}\s[^\n]*Num examples = ([0-9,]+)`)

// Alarm compares the number of rows that the program trains on with the number that it was given.
func (t *Tool) Alarm(folder external.Folder, said string) error {
	all := examples.FindAllStringSubmatch(said, -1)
	if len(all) == 0 {
		return nil
	}
	parts := all[len(all)-1]
	trained, err := strconv.Atoi(strings.ReplaceAll(parts[1], ",", ""))
	if err != nil {
		return nil
	}

	raw, err := os.ReadFile(filepath.Join(folder.Path, rowsFile))
	if err != nil {
		return nil
	}
	given, err := strconv.Atoi(string(raw))
	if err == nil && given != trained {
		return fault.New(fault.Invalid,
			"LLaMA-Factory trains on %d rows instead of %d: its log says which ones it dropped", trained, given)
	}

	return nil
}
