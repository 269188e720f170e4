package domain

import "testing"

func TestSeedsDependOnEveryPartOfThePath(t *testing.T) {
	seen := map[uint64]bool{
		Seed(2, "slot", 0, 0):  true,
		Seed(1, "slot", "0/0"): true,
	}
	for epoch := range 10 {
		for slot := range 10 {
			seen[Seed(1, "slot", epoch, slot)] = true
		}
	}

	// "slot/0/0" is the same path however it is split, so 102 calls give 101 seeds.
	if got, want := len(seen), 101; got != want {
		t.Errorf("%d different seeds, want %d", got, want)
	}
}
