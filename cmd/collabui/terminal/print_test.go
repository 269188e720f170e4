package terminal

import (
	"testing"
)

func TestTextCannotSteerATerminal(t *testing.T) {
	if got, want := Printable("a\x1b[31mb\nc\u009b"), "a[31mb\nc"; got != want {
		t.Errorf("printable = %q, want %q", got, want)
	}
}
