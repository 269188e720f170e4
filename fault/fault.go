// Package fault gives every error of the system a kind, which is mapped once to retries (workflows) and once to exit codes (cmd). It knows no other package.
package fault

import (
	"errors"
	"fmt"
	"time"
)

// Kind says what kind of thing went wrong and so what helps.
type Kind string

// The kinds.
const (
	Transient Kind = "transient" // try again: a connection, a restart
	Throttled Kind = "throttled" // try again later: a limit
	Exhausted Kind = "exhausted" // a budget is spent: a person decides
	Invalid   Kind = "invalid"   // the input is wrong: trying again cannot help
	Void      Kind = "void"      // the episode is spoiled: retry the slot from its start
	Corrupt   Kind = "corrupt"   // stored bytes are not what they must be
	Fatal     Kind = "fatal"     // a programming error or an impossible state
)

type faultError struct {
	kind  Kind
	err   error
	after time.Duration
}

func (f *faultError) Error() string { return f.err.Error() }
func (f *faultError) Unwrap() error { return f.err }

// New makes an error of a kind; format may wrap with %w.
func New(k Kind, format string, args ...any) error {
	return &faultError{kind: k, err: fmt.Errorf(format, args...)}
}

// As gives err a kind; nil stays nil.
func As(k Kind, err error) error {
	if err == nil {
		return nil
	}
	return &faultError{kind: k, err: err}
}

// After is New for a fault that passes after a known time: what a server says in Retry-After.
func After(k Kind, after time.Duration, format string, args ...any) error {
	return &faultError{kind: k, err: fmt.Errorf(format, args...), after: after}
}

// RetryAfter is the time of After; 0 where none is known.
func RetryAfter(err error) time.Duration {
	var f *faultError
	if errors.As(err, &f) {
		return f.after
	}
	return 0
}

// KindOf is the outermost kind of err; errors without one are transient, because most I/O errors pass.
func KindOf(err error) Kind {
	var f *faultError
	if errors.As(err, &f) {
		return f.kind
	}
	return Transient
}
