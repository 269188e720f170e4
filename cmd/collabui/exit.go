package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
)

// Exit codes of all commands.
const (
	exitOK       = 0
	exitFatal    = 1
	exitInvalid  = 2 // usage or specification
	exitService  = 3 // a service does not respond; a retry may succeed
	exitNotFound = 4
	exitCorrupt  = 5 // stored bytes are not what they must be
	exitStopped  = 6
	exitFailed   = 7 // a check or a claim failed
)

const exitHelp = `Exit codes: 0 success · 1 internal error · 2 wrong usage or specification · 3 no service answers
4 no such run or object · 5 corrupt data · 6 the run was stopped · 7 a check failed`

// errStopped and errFailed have exit codes of their own.
var (
	errStopped = errors.New("the run was stopped")
	errFailed  = errors.New("a check failed")

	// errDetached ends a command that ctrl-C left; what it started continues. It does not count as a failure.
	errDetached = errors.New("detached")
)

// exitCode returns the exit code of an error.
func exitCode(err error) int {
	switch {
	case errors.Is(err, errStopped):
		return exitStopped
	case errors.Is(err, errFailed):
		return exitFailed
	case errors.Is(err, store.ErrNotFound):
		return exitNotFound
	}

	switch fault.KindOf(err) {
	case fault.Invalid, fault.Refused:
		return exitInvalid
	case fault.Corrupt:
		return exitCorrupt
	case fault.Fatal:
		return exitFatal
	}

	return exitService
}

// longer returns the long help of a command, which ends with the exit codes.
func longer(c *cobra.Command) string {
	text := c.Short + "."
	if c.Long != "" {
		text = c.Long
	}

	return text + "\n\n" + exitHelp
}
