// Package fault assigns a kind to errors, which determines how to react to them. The system reads the kind, never the
// text, to decide whether to try again, and commands derive their exit code from it.
//
// Environments and trainers, in this module or outside, return these errors:
//
//	return fault.New(fault.Invalid, "panel: data: expected a folder, not %q", o.Data)
//	return fault.New(fault.Void, "the device no longer answers: %w", err)
//
// A run reacts to the kind as follows. The numbers in brackets are exit codes of commands.
//
//   - Transient, Throttled [3]: the activity is tried again with growing pauses, or after the time that RetryAfter
//     returns. After many tries the run pauses, shows the message, and continues by itself some minutes later.
//   - Void [3]: a new environment is opened for the same task. A rollout brings it to where the old one was by
//     replaying the recorded actions, or begins anew if the environment is not replayable. After several such
//     environments, the activity is tried again as for Transient. Only environments return it.
//   - Refused [2]: a model refuses this input and would refuse it again: a prompt that is too long, a content filter.
//     The caller records the refusal and continues without the answer, as far as the share of refusals allows. Where
//     nothing can continue, it is like Invalid.
//   - Exhausted [3], Invalid [2], Corrupt [5], Fatal [1]: another try cannot help. The run pauses with the message
//     until a person resumes it. The message should therefore name a remedy.
//
// An error without a kind is Transient, because most errors of networks and processes pass. A function that was
// cancelled should return context.Cause(ctx) without a kind.
//
// It does no I/O.
package fault

import (
	"errors"
	"fmt"
	"time"
)

// Kind is, in general, what went wrong, and so determines how to react.
type Kind string

const (
	// Transient means that another try can help: a connection was lost, a process restarts.
	Transient Kind = "transient"
	// Throttled means that a later try can help: a limit was reached. See After.
	Throttled Kind = "throttled"
	// Exhausted means that a budget is spent. A person has to raise it.
	Exhausted Kind = "exhausted"
	// Invalid means that the input is wrong: a specification, an option, a file of the user.
	Invalid Kind = "invalid"
	// Refused means that a model refuses this input, and would refuse it again.
	Refused Kind = "refused"
	// Void means that the state of an episode is unknown, so the episode cannot continue in this environment.
	Void Kind = "void"
	// Corrupt means that stored bytes are not what was written.
	Corrupt Kind = "corrupt"
	// Fatal means a programming error or a state that cannot occur.
	Fatal Kind = "fatal"
)

type faultError struct {
	kind  Kind
	err   error
	after time.Duration
}

func (f *faultError) Error() string { return f.err.Error() }
func (f *faultError) Unwrap() error { return f.err }

// New returns an error of a kind. The format may wrap errors with %w, and the new kind replaces theirs.
func New(k Kind, format string, args ...any) error {
	return As(k, fmt.Errorf(format, args...))
}

// As returns err with a kind, which replaces any that err has. It returns nil if err is nil.
func As(k Kind, err error) error {
	if err == nil {
		return nil
	}
	return &faultError{kind: k, err: err}
}

// After is New for a fault that passes after a known time, such as the time in the header Retry-After.
func After(k Kind, after time.Duration, format string, args ...any) error {
	return &faultError{kind: k, err: fmt.Errorf(format, args...), after: after}
}

// RetryAfter returns the time that was given to After, or 0 if none is known.
func RetryAfter(err error) time.Duration {
	var f *faultError
	if errors.As(err, &f) {
		return f.after
	}
	return 0
}

// KindOf returns the outermost kind of err, or Transient if err has no kind.
func KindOf(err error) Kind {
	var f *faultError
	if errors.As(err, &f) {
		return f.kind
	}
	return Transient
}
