package fault_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/collabui/collabui/fault"
)

func TestTheOutermostKindCounts(t *testing.T) {
	inner := fault.After(fault.Throttled, time.Minute, "slow down")

	for name, test := range map[string]struct {
		err   error
		kind  fault.Kind
		after time.Duration
	}{
		"nil":                      {nil, fault.Transient, 0},
		"nil with a kind":          {fault.As(fault.Fatal, nil), fault.Transient, 0},
		"plain":                    {errors.New("x"), fault.Transient, 0},
		"given a kind":             {fault.As(fault.Corrupt, errors.New("x")), fault.Corrupt, 0},
		"new":                      {fault.New(fault.Void, "x"), fault.Void, 0},
		"with a time":              {inner, fault.Throttled, time.Minute},
		"wrapped by a plain error": {fmt.Errorf("call: %w", inner), fault.Throttled, time.Minute},
		"wrapped by another kind":  {fault.New(fault.Invalid, "call: %w", inner), fault.Invalid, 0},
		"joined":                   {errors.Join(errors.New("x"), inner), fault.Throttled, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			if got := fault.KindOf(test.err); got != test.kind {
				t.Errorf("KindOf(%v) = %s, want %s", test.err, got, test.kind)
			}
			if got := fault.RetryAfter(test.err); got != test.after {
				t.Errorf("RetryAfter(%v) = %v, want %v", test.err, got, test.after)
			}
		})
	}
}

func TestAKindChangesNeitherTextNorChain(t *testing.T) {
	cause := errors.New("cause")

	if err := fault.As(fault.Void, nil); err != nil {
		t.Errorf("As(Void, nil) = %v, want nil", err)
	}
	for _, err := range []error{
		fault.As(fault.Void, fmt.Errorf("step: %w", cause)),
		fault.New(fault.Void, "step: %w", cause),
		fault.After(fault.Throttled, time.Second, "step: %w", cause),
	} {
		if got, want := err.Error(), "step: cause"; got != want {
			t.Errorf("text is %q, want %q", got, want)
		}
		if !errors.Is(err, cause) {
			t.Errorf("errors.Is(%v, cause) = false, want true", err)
		}
	}
}
