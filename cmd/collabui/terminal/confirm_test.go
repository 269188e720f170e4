package terminal

import (
	"os"
	"strings"
	"testing"
)

func TestOnlyAYesConfirms(t *testing.T) {
	for answer, want := range map[string]bool{"y\n": true, " Yes \n": true, "\n": false, "no\n": false, "": false} {
		var out strings.Builder
		if got := confirm(strings.NewReader(answer), &out, "delete x?"); got != want {
			t.Errorf("confirm with the answer %q = %v, want %v", answer, got, want)
		}
		if out.String() != "delete x? [y/N] " {
			t.Errorf("confirm printed %q, want the question", out.String())
		}
	}
}

func TestAScriptIsNotAsked(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = null.Close() }()
	if isTerminal(null) {
		t.Errorf("%s counts as a terminal, want that it does not", os.DevNull)
	}
	var out strings.Builder
	if !Confirm(&out, "delete x?") || out.Len() > 0 {
		t.Errorf("without a terminal it printed %q and refused, want yes without a question", out.String())
	}
}
