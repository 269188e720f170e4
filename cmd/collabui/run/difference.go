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
	var b strings.Builder
	differ := differences(recorded, given)
	for _, k := range slices.Sorted(maps.Keys(differ)) {
		terminal.Line(&b, "  %s: the run has %s, the file says %s", k, differ[k][0], differ[k][1])
	}

	return b.String()
}

// nothing stands for the value of a key that a specification does not have.
const nothing = "nothing"

// differences returns the values of both specifications for the keys in which they differ.
func differences(recorded, given spec.Spec) map[string][2]string {
	a := fields(recorded)
	b := fields(given)
	out := map[string][2]string{}
	for k, v := range a {
		if w, ok := b[k]; !ok {
			out[k] = [2]string{v, nothing}
		} else if v != w {
			out[k] = [2]string{v, w}
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
func fields(s spec.Spec) map[string]string {
	raw, _ := json.Marshal(s) // plain values can always be encoded
	var v map[string]any
	_ = json.Unmarshal(raw, &v)
	out := map[string]string{}
	flatten("", v, out)

	return out
}

func flatten(path string, v any, out map[string]string) {
	m, ok := v.(map[string]any)
	if !ok {
		out[path] = fmt.Sprint(v)
		return
	}
	for k, x := range m {
		flatten(strings.TrimPrefix(path+"."+k, "."), x, out)
	}
}
