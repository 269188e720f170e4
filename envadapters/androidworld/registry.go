package androidworld

import (
	_ "embed"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
)

// Splits in addition to the standard ones, which contain all android_world tasks.
const (
	SplitAll       = "android_world"         // all 116 tasks
	SplitAndroid   = "android"               // the 91 tasks that change a state
	SplitQuestions = "information_retrieval" // the 25 tasks that are questions
	SplitMiniwob   = "mobile-miniwob-92"     // MobileMiniWoB++, in AndroidWorld's app
	SplitMiniwob62 = "mobile-miniwob-62"     // its subset of 62 tasks
)

// group is a family of tasks.
type group string

const (
	groupAndroid   group = "android_world"
	groupQuestions group = "information_retrieval"
	groupMiniwob   group = "miniwob"
)

//go:embed tasks.json
var table []byte

// entry is a task of the registry: its name, family and step budget at commit d9c569f of AndroidWorld. The command
// `python -m collabui_companion tasks` writes the registry.
type entry struct {
	Name   string `json:"name"`
	Group  group  `json:"group"`
	Steps  int    `json:"max_steps"`
	Subset bool   `json:"subset,omitempty"` // whether a task of miniwob is in the subset of 62
}

// registry returns the table of tasks.
var registry = sync.OnceValue(func() []entry {
	var out []entry
	if err := json.Unmarshal(table, &out); err != nil {
		panic(err) // the table is embedded, so this is a bug
	}

	return out
})

// split divides the tasks of a registry into splits.
func split(tasks []entry) map[string][]envadapters.Template {
	tasks = slices.SortedFunc(slices.Values(tasks), func(a, b entry) int { return strings.Compare(a.Name, b.Name) })

	var names []string
	for _, e := range tasks {
		if e.Group != groupMiniwob {
			names = append(names, e.Name)
		}
	}
	train, _ := envadapters.HoldOut(names)

	out := map[string][]envadapters.Template{}
	for _, e := range tasks {
		template := envadapters.Template{Name: e.Name, Group: string(e.Group), MaxSteps: e.Steps}
		for _, text := range splitsOf(e, slices.Contains(train, e.Name)) {
			out[text] = append(out[text], template)
		}
	}

	return out
}

// splitsOf returns the splits of a task. train reports whether the task may be trained on.
func splitsOf(e entry, train bool) []string {
	if e.Group == groupMiniwob {
		if e.Subset {
			return []string{SplitMiniwob, SplitMiniwob62}
		}
		return []string{SplitMiniwob}
	}

	in := []string{SplitAll, domain.SplitTestTemplates}
	if train {
		in = []string{SplitAll, domain.SplitTrain, domain.SplitVal, domain.SplitTestSeeds}
	}

	switch e.Group {
	case groupAndroid:
		in = append(in, SplitAndroid)
	case groupQuestions:
		in = append(in, SplitQuestions)
	}

	return in
}
