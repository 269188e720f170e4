package run

import (
	"bytes"
	"testing"

	"github.com/collabui/collabui/cmd/collabui/app"
)

func TestDecisionsAreJSONWhereThatIsAsked(t *testing.T) {
	var out bytes.Buffer
	a := &app.App{Out: &out, JSON: true}
	if err := printDecision(a, "skip", "1/4", "slot 4 of epoch 1 is left out"); err != nil {
		t.Fatal(err)
	}
	if want := `{"decided":"skip","place":"1/4"}` + "\n"; out.String() != want {
		t.Errorf("it prints %q, want %q", out.String(), want)
	}
}
