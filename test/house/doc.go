// Package house checks the rules of this repository that no compiler knows: package comments agree with imports,
// imports only go down, lines are short, failures say what was wanted, and the docs name what exists.
package house
