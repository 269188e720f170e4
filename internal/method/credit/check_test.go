package credit

import (
	"reflect"
	"testing"

	"github.com/collabui/collabui/domain"
)

func TestACriticIsComparedWithTheJudgeCellByCell(t *testing.T) {
	s := step(1, 3, [][]int{{3, 3}, {1, 2}}) // truth 1 1 0 0; executed: click 3
	unknown := step(2, 3, [][]int{{3, 1}})
	unknown.Right = nil
	got := NewCheck()
	got.Add(
		[]domain.Step{s, unknown},
		[]domain.Credit{
			{Step: 1, Labels: []domain.Label{1, 0, 0, -1}},
			{Step: 2, Labels: []domain.Label{1, 0}},
		},
		[]Audit{
			{
				Grades:  []Score{{Value: 1, Given: true}, {Value: 0.25, Given: true}, {Value: 0.2, Given: true}, {}},
				Repairs: 1,
				Faults:  []CriticFault{{Kind: FaultMissing, Detail: "x"}},
				Spread:  0.75,
			},
			{Blinded: 3, Again: 2},
		},
		false,
	)

	want := NewCheck()
	want.Steps = 2
	want.All = Confusion{{1, 1, 0}, {0, 1, 1}, {1, 1, 0}}
	want.ByAction["click"] = want.All
	want.Bins[9] = Bin{Low: 0.9, Cells: 1, Right: 1, Score: 1}
	want.Bins[2] = Bin{Low: 0.2, Cells: 2, Right: 1, Score: 0.225}
	want.Outcomes = [2][2]int{{0, 0}, {1, 1}}
	want.Blinded, want.Again, want.Repairs, want.Spread = 3, 2, 1, 0.75
	want.Faults[FaultMissing] = 1
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestAgreementIsOfCellsThatBothLabel(t *testing.T) {
	for name, c := range map[string]struct {
		confusion Confusion
		rate      float64
		n         int
	}{
		"two of three": {Confusion{{1, 1, 0}, {0, 1, 1}, {1, 1, 0}}, 2.0 / 3, 3},
		"of nothing":   {Confusion{}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if rate, n := c.confusion.Agreement(); rate != c.rate || n != c.n {
				t.Errorf("Agreement() = %v, %d; want %v, %d", rate, n, c.rate, c.n)
			}
		})
	}
}
