package credit

import (
	"testing"

	"github.com/collabui/collabui/domain"
)

func TestACriticIsComparedWithTheJudgeCellByCell(t *testing.T) {
	s := step(1, 3, [][]int{{3, 3}, {1, 2}}) // truth 1 1 0 0; executed: click 3
	blind := step(2, 3, [][]int{{3, 1}})
	blind.Right = nil // the judge knows nothing here
	k := NewCheck()
	k.Add([]domain.Step{s, blind}, []domain.Credit{{Step: 1, Labels: []domain.Label{1, 0, 0, -1}}, {Step: 2, Labels: []domain.Label{1, 0}}},
		[]Audit{{Grades: []Score{{Value: 1, Given: true}, {Value: 0.25, Given: true}, {Value: 0.2, Given: true}, {}}, Repairs: 1, Faults: []CriticFault{{FaultMissing, "x"}}, Spread: 0.75}, {Blinded: 3, Again: 2}}, false)
	if want := (Confusion{{1, 1, 0}, {0, 1, 1}, {1, 1, 0}}); k.All != want || k.ByAction["click"] != want {
		t.Errorf("%v", k.All)
	}
	if rate, n := k.All.Agreement(); n != 3 || rate < 0.66 || rate > 0.67 {
		t.Error(rate, n)
	}
	if k.Bins[9].Cells != 1 || k.Bins[9].Right != 1 || k.Bins[2].Cells != 2 || k.Bins[2].Right != 1 || k.Bins[2].Score != 0.225 {
		t.Errorf("%+v", k.Bins)
	}
	if k.Outcomes != [2][2]int{{0, 0}, {1, 1}} || k.Steps != 2 || k.Blinded != 3 || k.Again != 2 || k.Repairs != 1 || k.Faults[FaultMissing] != 1 || k.Spread != 0.75 {
		t.Errorf("%+v", k)
	}
	if rate, n := (Confusion{}).Agreement(); rate != 0 || n != 0 {
		t.Error("of nothing", rate, n)
	}
}
