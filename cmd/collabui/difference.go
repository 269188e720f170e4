package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/collabui/collabui/internal/method/spec"
)

// difference returns the fields in which two specifications differ, one per line.
func difference(recorded, given spec.Spec) string {
	x, y := fields(recorded), fields(given)
	for k := range y {
		if _, ok := x[k]; !ok {
			x[k] = "nothing"
		}
	}

	var b strings.Builder
	for _, k := range sortedKeys(x) {
		if v, ok := y[k]; !ok {
			say(&b, "  %s: the run has %s, the file says nothing", k, x[k])
		} else if x[k] != v {
			say(&b, "  %s: the run has %s, the file says %s", k, x[k], v)
		}
	}

	return b.String()
}

// fields returns the values of a specification by their dotted paths.
func fields(s spec.Spec) map[string]string {
	raw, _ := json.Marshal(s) // plain values always encode
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
