package credit

import (
	"testing"
)

// FuzzGrades: whatever a critic writes, only wanted cells get a score, and only one from 0 to 1.
func FuzzGrades(f *testing.F) {
	for _, s := range []string{"", `{"grades":[{"cell":"0.0","score":1,"reason":"x"}]}`, `{"grades":[{"cell":0.0,"score":"1e-400"}]}`, `{"grades":[{"cell":"0.0","score":"NaN"}]}`, `{"grades":[{"cell":"0.0","score":"0x1p-1"}]}`,
		`{"grades":[null,1,{"cell":{},"score":[]}]}`, `{"grades":{"cell":"0.0"}}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		want, grades := map[string]int{"0.0": 0, "1.0": 2}, make([]Score, 3)
		take(s, want, grades)
		for i, g := range grades {
			waits := i == 0 && has(want, "0.0") || i == 2 && has(want, "1.0")
			if g.Given == waits && i != 1 || i == 1 && g.Given || !(g.Value >= 0 && g.Value <= 1) || len([]rune(g.Reason)) > maxReason+1 {
				t.Errorf("%q: cell %d %+v, still wanted %v", s, i, g, want)
			}
		}
	})
}

func has(m map[string]int, k string) bool { _, ok := m[k]; return ok }
