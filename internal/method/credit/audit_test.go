package credit

import "testing"

func TestACriticWithoutGradesIsOfNoUse(t *testing.T) {
	shape := CriticFault{FaultShape, "no list"}
	refused := CriticFault{FaultRefused, "filtered"}
	given := []Score{{Given: true}}
	for name, x := range map[string]struct {
		audit Audit
		want  string
	}{
		"all graded":          {Audit{Grades: given}, ""},
		"nothing to grade":    {Audit{Grades: []Score{{}}}, ""},
		"no grade":            {Audit{Grades: []Score{{}, {}}, Faults: []CriticFault{shape}}, "no list"},
		"some grades":         {Audit{Grades: []Score{{}, {Given: true}}, Faults: []CriticFault{shape}}, ""},
		"one of two refusals": {Audit{Grades: given, Faults: []CriticFault{shape, refused}}, "filtered"},
	} {
		if got := x.audit.UselessReason(); got != x.want {
			t.Errorf("%s: Useless = %q, want %q", name, got, x.want)
		}
	}
}
