package run

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/collabui/collabui/cmd/collabui/terminal"
	"github.com/collabui/collabui/internal/method/spec"
)

// difference returns the fields in which two specifications differ, one per line.
func difference(recorded, given spec.Spec) string {
	var builder strings.Builder
	differ := differences(recorded, given)
	for _, key := range slices.Sorted(maps.Keys(differ)) {
		terminal.Line(&builder, "  %s: the run has %s, the file says %s", key, differ[key][0], differ[key][1])
	}

	return builder.String()
}

// nothing stands for the value of a key that a specification does not have.
const nothing = "nothing"

// differences returns the values of both specifications for the keys in which they differ.
func differences(recorded, given spec.Spec) map[string][2]string {
	a := fields(recorded)
	b := fields(given)
	out := map[string][2]string{}
	for key, value := range a {
		if word, ok := b[key]; !ok {
			out[key] = [2]string{value, nothing}
		} else if value != word {
			out[key] = [2]string{value, word}
		}
	}
	for k, w := range b {
		if _, ok := a[k]; !ok {
			out[k] = [2]string{nothing, w}
		}
	}

	return out
}

// fields returns the values of a specification by their dotted paths.
func fields(specification spec.Spec) map[string]string {
	raw, _ := json.Marshal(specification) // plain values can always be encoded
	var v map[string]any
	_ = json.Unmarshal(raw, &v)
	out := map[string]string{}
	flatten("", v, out)

	return out
}

func flatten(path string, value any, out map[string]string) {
	m, ok := value.(map[string]any)
	if !ok {
		out[path] = fmt.Sprint(value)
		return
	}
	for key, x := range m {
		flatten(strings.TrimPrefix(path+"."+key, "."), x, out)
	}
}
