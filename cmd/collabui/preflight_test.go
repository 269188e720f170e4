package main

import (
	"context"
	"fmt"
	"io"
	"testing"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
)

// unlisted is a store that answers one call of LIST with an error.
type unlisted struct {
	*store.Memory
	failing int // which call
	calls   int
}

func (b *unlisted) fail() error {
	b.calls++
	if b.calls == b.failing {
		return fault.New(fault.Transient, "the store is busy")
	}

	return nil
}

func (b *unlisted) List(ctx context.Context, prefix string) ([]store.Ref, error) {
	if err := b.fail(); err != nil {
		return nil, err
	}

	return b.Memory.List(ctx, prefix)
}

func (b *unlisted) Folders(ctx context.Context, prefix string) ([]string, error) {
	if err := b.fail(); err != nil {
		return nil, err
	}

	return b.Memory.Folders(ctx, prefix)
}

// TestARunIsNotRecordedBeforeItsChecks: a run whose specification is recorded is never checked again.
func TestARunIsNotRecordedBeforeItsChecks(t *testing.T) {
	x := spec.Default()
	x.Name = "new"
	for failing := 1; failing <= 4; failing++ {
		t.Run(fmt.Sprint("the store fails to list at call ", failing), func(t *testing.T) {
			b := &unlisted{Memory: &store.Memory{}, failing: failing}
			s := &session{app: &app{err: io.Discard}, bucket: b}
			err := s.admit(t.Context(), x, true, "")
			if err == nil || b.calls != failing {
				t.Errorf("admit = %v after %d calls, want the error of call %d", err, b.calls, failing)
			}
			if recorded, err := runs.Run(x.Name).Spec().Exists(t.Context(), b.Memory); err != nil || recorded {
				t.Errorf("the specification is recorded: %v, %v, want nothing recorded", recorded, err)
			}
		})
	}
}
