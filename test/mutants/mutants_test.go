package mutants

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const sample = `package a

type box[T any] struct{}

func (b *box[T]) Get(n int) (int, error) {
	if n > 1 && n < most { // a comment
		return b.get(
			n,
			1,
		), nil
	}
	switch {
	case n == 0, n == 1:
		n++
		n--
	}
	n++

	return n, nil
}

func Get() {}
`

func TestAChangeIsOfOnePlaceInASymbol(t *testing.T) {
	for _, c := range []struct {
		name, symbol string
		change       Change
		was, now     string // of the file; if was is "", an error that contains now
	}{
		{"a condition that is never true", "box.Get", never("n > 1 && n < most"), "n > 1 && n < most",
			"(n > 1 && n < most) && false"},
		{"a part of it, in another form", "box.Get", always("n<most"), "n < most", "(n<most) || true"},
		{"a call over several lines", "box.Get", replace("b.get(n, 1)", "n"), "b.get(\n\t\t\tn,\n\t\t\t1,\n\t\t)", "n"},
		{"statements in succession", "box.Get", replace("n++; n--", ""), "n++\n\t\tn--", ""},
		{"one of several cases", "box.Get", replace("n == 0", "n == 2"), "n == 0", "n == 2"},
		{"the begin of a body", "Get", begin("panic(1)"), "func Get() {", "func Get() {panic(1);"},
		{"two places", "box.Get", replace("n++", ""), "", "in 2 places"},
		{"no place", "box.Get", replace("n += 1", ""), "", "in 0 places"},
		{"a place in another function", "Get", replace("n--", ""), "", "in 0 places"},
		{"what is no Go", "box.Get", replace("n--", "n-"), "", "expected"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, ok, err := c.change.apply(c.symbol, sample)
			if c.was == "" {
				if err == nil || !strings.Contains(err.Error(), c.now) {
					t.Fatalf("error %v, want one that contains %q", err, c.now)
				}

				return
			}
			if err != nil || !ok {
				t.Fatalf("%t, %v, want the change", ok, err)
			}
			if want := strings.Replace(sample, c.was, c.now, 1); tokens(got) != tokens(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestASymbolThatIsGoneIsNamed(t *testing.T) {
	m := Mutant{Name: "a bug", Symbol: "test/mutants.Mutant.Gone", Change: begin("")}
	_, _, err := m.Plant("../..")
	if want := `"a bug" cannot be planted: no file of test/mutants declares Mutant.Gone`; err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}

func TestEveryMutantHasItsTurn(t *testing.T) {
	for _, n := range []int{1, 6, 66, 67} {
		turns := uint64(n+5) / 6
		seen := map[int]bool{}
		for seed := 100 * turns; seed < 101*turns; seed++ {
			for _, i := range Rotation(n, 6, seed) {
				seen[i] = true
			}
		}
		if len(seen) != n {
			t.Errorf("%d of %d mutants have their turn in %d seeds, want all", len(seen), n, turns)
		}
	}
}

func TestARecordHasTheNewestOfEveryMutant(t *testing.T) {
	file := filepath.Join(t.TempDir(), RecordFile)
	write := func(mutants string, found Found) {
		t.Helper()
		var all []Mutant
		for _, name := range strings.Fields(mutants) {
			all = append(all, Mutant{Name: name})
		}
		if err := WriteRecord(file, found, all); err != nil {
			t.Fatal(err)
		}
	}
	write("a b c", Found{Name: "c", On: "1"})
	write("a b c", Found{Name: "b", On: "1"})
	write("a b c", Found{Name: "a", On: "1"})
	write("a c", Found{Name: "a", On: "2"})

	got, err := ReadRecord(file)
	if want := []Found{{Name: "a", On: "2"}, {Name: "c", On: "1"}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}
