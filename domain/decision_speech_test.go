package domain

import "testing"

func TestOnlySpeechIsNoAction(t *testing.T) {
	cell := func(action string) Cell { return Cell{Action: &Action{Type: action}} }
	for name, c := range map[string]struct {
		cells []Cell
		want  bool
	}{
		"all speak":                    {[]Cell{cell(ActionTell), cell(ActionPoint), cell(ActionPass)}, true},
		"one acts":                     {[]Cell{cell(ActionTell), cell(ActionWait)}, false},
		"one does not parse":           {[]Cell{{}, cell(ActionPass)}, true},
		"no answer parses":             {[]Cell{{}, {}}, false},
		"there are no agents' answers": {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (Decision{Cells: c.cells}).OnlySpeech(); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestViewsAreDividedIfAnAgentSeesWhatAnotherDoesNot(t *testing.T) {
	for name, c := range map[string]struct {
		seen [][]int
		want bool
	}{
		"an older record":      {nil, false},
		"one agent":            {[][]int{{0, 1}}, false},
		"all see the same":     {[][]int{{0, 1}, {0, 1}}, false},
		"one sees less":        {[][]int{{0, 1}, {0}}, true},
		"each sees its region": {[][]int{{0}, {1}, {2}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (Decision{Seen: c.seen}).Divided(); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}
