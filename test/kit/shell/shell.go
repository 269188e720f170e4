// Package shell reads command lines with a shell, to test that what the program prints can be pasted.
package shell

import (
	"os/exec"
	"strings"
	"testing"
)

// Args returns the arguments that a shell gives to a program.
func Args(t testing.TB, line string) []string {
	t.Helper()
	out, err := exec.Command("sh", "-c", `printf '%s\0' `+line).Output()
	if err != nil {
		t.Fatalf("sh on %s: %v, want its arguments", line, err)
	}

	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

// Path returns a path as an argument that no program takes for a flag.
func Path(word string) string {
	if word[0] == '-' {
		return "./" + word
	}

	return word
}
