package view_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

func TestASpecificationIsYAMLWithWhatDiffersAndWhatWasChanged(t *testing.T) {
	var b store.Memory
	run := crafted(t, &b, func(s *spec.Spec) { s.Seed = 1<<64 - 1 })
	record(t, &b, run.Change(1), runs.Change{
		Who: "me" + hostile[0], Why: "why" + hostile[1], Verb: runs.VerbSet,
		At:     time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC),
		Values: spec.Values{"epochs": json.RawMessage("7")},
	})
	lines := map[string]any{}
	for _, line := range document(t, library(&b, 1), "run/crafted").(map[string]any)["lines"].([]any) {
		lines[at(t, line, "text").(string)] = line
	}
	for _, want := range []struct {
		text    string
		set     any
		changed any
	}{
		{"name: crafted", true, nil},
		{"seed: 18446744073709551615", true, nil}, // a script's number cannot hold it
		{"decoding:", true, nil},
		{"  temperatures: [0.5]", true, nil},
		{"epochs: 7", true, "set by me" + hostile[0] + " at 2026-11-30 08:00: why" + hostile[1]},
		{"vote_scope: " + string(spec.Default().VoteScope), nil, nil},
	} {
		line, ok := lines[want.text]
		if !ok {
			t.Errorf("the lines are %v, want %q among them", lines, want.text)

			continue
		}
		if got := at(t, line, "set"); got != want.set {
			t.Errorf("%s: set is %v, want %v", want.text, got, want.set)
		}
		if got := at(t, line, "changed"); got != want.changed {
			t.Errorf("%s: changed is %v, want %v", want.text, got, want.changed)
		}
	}

	x := newTab(t)
	x.open(serve(t, &b, "crafted"), "document.querySelector('h1')")
	x.page("#/run/crafted/specification", "epochs: 7  # set by me"+hostile[0])
	if got := x.eval("document.querySelector('.yaml').innerText.includes('vote_scope')"); got != false {
		t.Errorf("the page shows defaults, want only what differs from them")
	}
	x.page("#/run/crafted/specification?all=1", "vote_scope")
	x.quiet()
}

func TestAnswersAreSearched(t *testing.T) {
	var b store.Memory
	pictured(t, &b)
	const run = "crafted"
	x := newTab(t)
	for form, url := range forms(t, &b, run) {
		x.open(url, "document.querySelector('h1')")
		x.page("#/evaluation/crafted/final%2Ftrained-2%2Fval?text=INDEX%22%3A0", "0 of 1 episodes")
		x.choose("also in answers", "")
		x.wait("document.body.innerText.includes('1 of 1 episodes')")
		x.page("#/run/"+run+"/episodes?text=INDEX%22%3A0", "0 of 5 episodes")
		x.choose("also in answers", "")
		x.wait("document.body.innerText.includes('4 of 5 episodes')") // the failed one has no answer
		x.wait("location.hash.includes('answers=1')")
		x.eval("document.querySelector('.line.place a').click()")
		x.wait("document.body.innerText.includes('1 of 4')")
		t.Log(form)
		x.quiet()
	}
}
