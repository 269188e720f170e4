package app

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
)

// Exit codes of all commands.
const (
	ExitOK       = 0
	exitFatal    = 1
	ExitInvalid  = 2 // usage or specification
	ExitService  = 3 // a service does not respond; a retry may succeed
	ExitNotFound = 4
	exitCorrupt  = 5 // stored bytes are not what they must be
	exitStopped  = 6
	exitFailed   = 7 // a check or a claim failed
)

// ExitHelp lists the exit codes at the end of the help.
const ExitHelp = `Exit codes: 0 success · 1 internal error · 2 wrong usage or specification · 3 no service answers
4 no such run or object · 5 corrupt data · 6 the run was stopped · 7 a check failed`

// errStopped and errFailed have exit codes of their own.
var (
	errStopped = errors.New("the run was stopped")
	ErrFailed  = errors.New("a check failed")

	// ErrDetached ends a command that ctrl-C left; what it started continues. It does not count as a failure.
	ErrDetached = errors.New("detached")
)

// ExitCode returns the exit code of an error.
func ExitCode(err error) int {
	switch {
	case errors.Is(err, errStopped):
		return exitStopped
	case errors.Is(err, ErrFailed):
		return exitFailed
	case errors.Is(err, store.ErrNotFound):
		return ExitNotFound
	}

	switch fault.KindOf(err) {
	case fault.Invalid, fault.Refused:
		return ExitInvalid
	case fault.Corrupt:
		return exitCorrupt
	case fault.Fatal:
		return exitFatal
	}

	return ExitService
}

// LongHelp returns the long help of a command, which ends with the exit codes.
func LongHelp(cmd *cobra.Command) string {
	text := cmd.Short + "."
	if cmd.Long != "" {
		text = cmd.Long
	}

	return text + "\n\n" + ExitHelp
}
