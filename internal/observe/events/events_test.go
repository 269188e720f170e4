package events

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

// samples returns an event of every kind.
func samples() []Event {
	return []Event{
		Base{Policy: "d", InBand: true, StoppedBy: "stop_low"},
		Data{Level: 1, Rows: 2, Dropped: 3},
		Episode{Epoch: 1, Slot: 2, Success: true, Steps: 3},
		Void{Epoch: 1, Slot: 2, Attempt: 3, Why: "w"},
		Labels{Epoch: 1, Slot: 2, Right: 3, Wrong: 4, Unsure: 5, Pairs: 6},
		Environment{Suite: "webtasks"},
		Update{Epoch: 1, Agent: 2, Pairs: 3, Steps: 4, Kept: "why"},
		Gap{Epoch: 1, Agent: 2, Of: GapServed, Mean: 0.01, Worst: 0.02, Limit: 0.05},
		Warning{Epoch: 1, Agent: 2, Text: "t"},
		Epoch{Epoch: 1, Rollouts: 0.5, Pairs: 3, Val: -1, Digest: "d"},
		Evaluation{Folder: "f", System: "s", Split: "val", From: 0, To: 25, Successes: 7},
		Result{Folder: "f", System: "s", Split: "val", Episodes: 4, Successes: 1, Rate: 0.25},
		End{FinalDigest: "d"},
		Progress{Run: "r", Text: "t"},
		Message{Run: "r", Text: "t"},
	}
}

func TestEveryEventSurvivesTheStream(t *testing.T) {
	for _, want := range samples() {
		t.Run(want.kind(), func(t *testing.T) {
			raw, err := Encode(want)
			if err != nil {
				t.Fatal(err)
			}
			got, err := Decode(raw)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("Decode(%s) = %+v, %v; want %+v", raw, got, err, want)
			}
		})
	}
	if got := len(samples()); got != len(kinds) {
		t.Errorf("there are samples of %d kinds, want one of each of %d", got, len(kinds))
	}
	if e, err := Decode([]byte(`{"event":"new"}`)); err == nil {
		t.Errorf("Decode of an unknown event = %+v, want an error", e)
	}
}

func TestTheDocumentedKeysAreThoseOfTheEvents(t *testing.T) {
	raw, err := os.ReadFile("../../../docs/run-locally.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for _, line := range strings.Split(string(raw), "\n") {
		if cells := strings.Split(line, "|"); len(cells) == 5 {
			rows[strings.Trim(cells[1], " `")] = strings.TrimSpace(cells[2])
		}
	}

	for _, e := range samples() {
		t.Run(e.kind(), func(t *testing.T) {
			var keys []string
			for i := range reflect.TypeOf(e).NumField() {
				keys = append(keys, "`"+reflect.TypeOf(e).Field(i).Tag.Get("json")+"`")
			}
			if got, want := rows[e.kind()], strings.Join(keys, " "); got != want {
				t.Errorf("docs/run-locally.md gives %q the keys %s, want %s", e.kind(), got, want)
			}
		})
	}
}
