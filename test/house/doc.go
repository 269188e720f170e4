// Package house checks the rules of this repository that no compiler knows: package comments agree with imports,
// imports only go down, lines are short, failures say what was wanted, the docs name what exists, and every bug of
// test/mutants can be planted.
package house
