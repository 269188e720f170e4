package mind2web

import (
	"maps"
	"testing"
)

func TestTextBelongsToTheElementsAroundIt(t *testing.T) {
	got := pageTexts(`<div backend_node_id="1"><input backend_node_id="2"><img backend_node_id="3"/>` +
		`a <b backend_node_id="4">b</p></b></div> c`)
	if want := map[string]string{"1": "a b", "4": "b"}; !maps.Equal(got, want) {
		t.Errorf("pageTexts = %q, want %q", got, want)
	}
}

func FuzzPageTexts(f *testing.F) {
	f.Add(`<a backend_node_id="1">x</a>`)
	f.Fuzz(func(t *testing.T, s string) {
		for text := range maps.Values(pageTexts(s)) {
			if len(text) > maxText+len(s) {
				t.Errorf("a text of %d bytes, want at most %d", len(text), maxText+len(s))
			}
		}
	})
}
