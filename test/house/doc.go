// Package house checks the rules of this repository that no compiler checks: package comments agree with imports,
// imports only go down, the docs name what exists, and every bug of test/mutants can be planted.
package house
