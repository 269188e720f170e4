package experiments_test

import (
	"testing"

	"github.com/collabui/collabui/internal/experiment"
	"github.com/collabui/collabui/internal/records/experiments"
)

func TestWhatIsAddedWhenResultsAreKnownIsLate(t *testing.T) {
	t.Parallel()
	first := experiment.Contrast{Of: "a/trained", Minus: "a/base", Split: "val"}
	added := experiment.Contrast{Of: "a/trained", Minus: "a/trained-silent", Split: "val"}
	version := func(n, seeds int, contrasts ...experiment.Contrast) experiments.Version {
		return experiments.Version{Number: n, Experiment: experiment.Experiment{Seeds: seeds, Contrasts: contrasts}}
	}
	one := version(1, 4, first)
	for name, c := range map[string]struct {
		versions []experiments.Version
		known    int // the newest version that has a result
		late     []bool
		first    []int
	}{
		"nothing was added": {[]experiments.Version{one}, 0, []bool{false}, []int{1}},
		"a contrast": {
			[]experiments.Version{one, version(2, 4, first, added)}, 1, []bool{false, true}, []int{1, 2},
		},
		"a contrast before a result": {
			[]experiments.Version{one, version(2, 4, first, added)}, 0, []bool{false, false}, []int{1, 2},
		},
		"seeds":                 {[]experiments.Version{one, version(2, 6, first)}, 1, []bool{true}, []int{2}},
		"seeds before a result": {[]experiments.Version{one, version(2, 6, first)}, 0, []bool{false}, []int{2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			last := len(c.versions) - 1
			rows := c.versions[last].Judge(c.versions[:last], func(n int) bool { return n > 0 && n <= c.known },
				func(experiment.Play) [][]experiment.Episode {
					return [][]experiment.Episode{episodesOf("a"), episodesOf("b")}
				})
			for i, r := range rows {
				if r.Late != c.late[i] || r.Version != c.first[i] {
					t.Errorf("row %d is %+v, want late %v and version %d", i, r, c.late[i], c.first[i])
				}
			}
		})
	}
}

// episodesOf returns two episodes of a template.
func episodesOf(template string) []experiment.Episode {
	return []experiment.Episode{{Template: template, Success: 1}, {Template: template}}
}
