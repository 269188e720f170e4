package main

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// The supervisor decides by exit code whether a restart can help.
const (
	exitFailure = 1
	exitUsage   = 2
	exitPort    = 3
	exitLocked  = 4
	exitData    = 5
)

// problem is a failure that a person can do something about.
type problem struct {
	code  int
	what  string
	todo  string
	cause error
}

func (p *problem) Error() string { return p.what }
func (p *problem) Unwrap() error { return p.cause }

func (p *problem) line() string {
	text := p.what
	if p.cause != nil {
		text += " (" + p.cause.Error() + ")"
	}

	return oneLine(fmt.Sprintf("collabui-local: %s : %s", text, p.todo))
}

func usageProblem(what, todo string) error {
	return &problem{code: exitUsage, what: what, todo: todo}
}

// freePort is the advice about a port in use.
const freePort = "stop the process that uses the port or choose another address"

func portProblem(addr string, cause error) error {
	return &problem{code: exitPort, what: "cannot listen on " + addr, todo: freePort, cause: cause}
}

func dataProblem(what string, cause error) error {
	return &problem{code: exitData, what: what, todo: advice(cause), cause: cause}
}

// diagnose returns the problem in err's chain, or the one that matches the kind of err.
func diagnose(err error) *problem {
	var p *problem
	var sqliteErr *sqlite.Error
	switch {
	case errors.As(err, &p):
		return p
	case errors.Is(err, syscall.EADDRINUSE):
		return &problem{code: exitPort, what: err.Error(), todo: freePort}
	case errors.Is(err, syscall.ENOSPC), errors.As(err, &sqliteErr):
		return &problem{code: exitData, what: err.Error(), todo: advice(err)}
	}

	return &problem{code: exitFailure, what: err.Error(), todo: "see the log lines above"}
}

// advice returns advice about an error of the file system or of SQLite.
func advice(err error) string {
	var code int
	var sqliteErr *sqlite.Error
	if errors.As(err, &sqliteErr) {
		code = sqliteErr.Code() & 0xff // the low byte is the primary code
	}

	switch {
	case errors.Is(err, syscall.ENOSPC), code == sqlite3.SQLITE_FULL:
		return "free some disk space and start again"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS),
		code == sqlite3.SQLITE_READONLY, code == sqlite3.SQLITE_CANTOPEN:
		return "make the folder writable for this user or choose another one"
	case code == sqlite3.SQLITE_CORRUPT, code == sqlite3.SQLITE_NOTADB:
		return setAside
	}

	return "repair it or choose another folder"
}

func oneLine(text string) string {
	return strings.Join(strings.Fields(text), " ")
}
