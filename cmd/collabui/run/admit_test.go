package run

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/test/kit/listing"
)

// unlisted is a store that lists nothing.
type unlisted struct{ *store.Memory }

func (unlisted) List(context.Context, string) ([]store.Ref, error) {
	return nil, fault.New(fault.Transient, "the store is busy")
}

// TestARunIsNotRecordedBeforeItsChecks: a run whose specification is recorded is never checked again.
func TestARunIsNotRecordedBeforeItsChecks(t *testing.T) {
	x := spec.Default()
	x.Name = "new"
	memory := &store.Memory{}
	s := &app.Session{App: &app.App{Err: io.Discard}, Store: unlisted{memory}}
	if err := admit(t.Context(), s, x, true, ""); fault.KindOf(err) != fault.Transient {
		t.Errorf("admit = %v, want the error of the store", err)
	}
	if recorded, err := runs.Run(x.Name).Spec().Exists(t.Context(), memory); err != nil || recorded {
		t.Errorf("the specification is recorded: %v, %v, want nothing recorded", recorded, err)
	}
}

// TestAForkThatWasCutShortIsNotTakenForANewRun: a run of its name would begin with what the fork has copied.
func TestAForkThatWasCutShortIsNotTakenForANewRun(t *testing.T) {
	b := &store.Memory{}
	if _, _, _, err := runs.Run("fork").Origin().Write(t.Context(), b, runs.Origin{Run: "whole"}); err != nil {
		t.Fatal(err)
	}
	x := spec.Default()
	x.Name = "fork"
	s := &app.Session{App: &app.App{Err: io.Discard}, Store: b}
	err := admit(t.Context(), s, x, true, "")
	if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "cut short") {
		t.Errorf("admit = %v, want an invalid fault about a fork that was cut short", err)
	}
}

func TestTheCheckBeforeAStartListsNoObjects(t *testing.T) {
	t.Parallel()
	b := &listing.Counter{Memory: listing.ThreeRuns(t)}
	x := spec.Default()
	x.Name = "a"
	x.Epochs = 1
	s := &app.Session{App: &app.App{Data: t.TempDir(), Out: io.Discard}, Store: b}
	if err := admit(t.Context(), s, x, true, ""); err != nil {
		t.Errorf("admit = %v, want no error", err)
	}
	b.Want(t, "the check before a start")
}
