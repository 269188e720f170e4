package hf

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// State is trainer_state.json, which the program writes last into a checkpoint, and at the end of its work.
type State struct {
	Step    int                          `json:"global_step"`
	Max     int                          `json:"max_steps"`
	History []map[string]json.RawMessage `json:"log_history"`
}

// ReadState reads the state in a folder. ok is false if it is missing or incomplete.
func ReadState(dir string) (state State, ok bool) {
	raw, err := os.ReadFile(filepath.Join(dir, "trainer_state.json"))
	if err != nil || unmarshal(raw, &state) != nil {
		return state, false
	}

	return state, state.Step > 0
}

// notNumber finds what Python writes for values that are not numbers. It is not valid JSON.
var notNumber = regexp.MustCompile(`(:\s*)-?(NaN|Infinity)\b`)

// unmarshal reads JSON that Python wrote.
func unmarshal(raw []byte, value any) error {
	return json.Unmarshal(notNumber.ReplaceAll(raw, []byte(`$1"NaN"`)), value)
}

// number reads a value of a log, which may be NaN. ok is false for a missing value, or one of another type.
func number(raw json.RawMessage) (x float64, ok bool) {
	if raw == nil {
		return 0, false
	}
	x, err := strconv.ParseFloat(strings.Trim(string(raw), `"`), 64) // ParseFloat accepts NaN.

	return x, err == nil
}

// Metrics returns the final metrics of a state, and of the results that the program wrote separately, without those
// that depend on time.
func Metrics(state State, results []byte) map[string]float64 {
	all := map[string]json.RawMessage{}
	_ = unmarshal(results, &all) // Unreadable results have no metrics.
	for _, l := range state.History {
		for key, rawMessage := range l {
			if strings.HasPrefix(key, "rewards/") || strings.HasPrefix(key, "logps/") {
				all[key] = rawMessage // The last value wins.
			}
		}
	}

	metrics := map[string]float64{}
	for k, message := range all {
		timed := strings.Contains(k, "runtime") || strings.Contains(k, "per_second")
		if x, ok := number(message); ok && !math.IsNaN(x) && !timed {
			metrics[k] = x
		}
	}

	return metrics
}
