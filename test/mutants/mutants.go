// Package mutants contains bugs that are planted into the source, one after the other, to check that tests find them:
// `make mutants`. A bug is a change to the syntax of one function, wherever the package declares it, so that moves,
// comments and formatting leave it as it is. test/house checks that every bug can still be planted.
package mutants

import (
	"slices"
	"strings"
)

// A Mutant is a bug that can be planted.
type Mutant struct {
	Name string // the bug in words
	// Symbol is the changed function: a package below the root of the module, and a function of it, or a method with
	// its type, as in "internal/store.S3.Get".
	Symbol string
	Change Change
	Find   []string // the arguments of `go test` that must fail
}

// All returns every mutant.
func All() []Mutant {
	return slices.Concat(storage, records, collection, removal, effects, messages, speech, orchestration)
}

// A Change replaces one place of a symbol.
type Change struct {
	// was is an expression, or consecutive statements, that the symbol contains in exactly one place. If it is empty,
	// now is put in front of the body.
	was, now string
}

// replace puts other source in the place of an expression or of statements. If the other source is empty, the
// statements are removed.
func replace(was, now string) Change { return Change{was: was, now: now} }

// never makes a condition false.
func never(condition string) Change { return replace(condition, "("+condition+") && false") }

// always makes a condition true.
func always(condition string) Change { return replace(condition, "("+condition+") || true") }

// begin puts statements in front of a function's body.
func begin(statements string) Change { return Change{now: statements + ";"} }

// by returns the arguments of `go test` that run the named tests of a package.
func by(pkg string, tests ...string) []string {
	return []string{"./" + pkg, "-run", "^(" + strings.Join(tests, "|") + ")$"}
}

// simulated plays whole runs under faults.
var simulated = append(by("test/simulation", "TestSchedules"), "-args", "-schedules", "400", "-stop", "1")

// Rotation returns some of n mutants, by their indices, for a turn: successive turns play all of them. Each round
// begins one place later, so that a limited time does not always leave out the same mutants.
func Rotation(n, some int, turn uint64) []int {
	some = min(some, n)
	if some <= 0 {
		return nil
	}
	round := uint64((n + some - 1) / some)
	first := turn%round*uint64(some) + turn/round

	var chosen []int
	for i := range uint64(some) {
		chosen = append(chosen, int((first+i)%uint64(n)))
	}

	return chosen
}
