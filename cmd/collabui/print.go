package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
)

// say prints a line to w. Errors of a terminal or a pipe are ignored.
func say(w io.Writer, format string, args ...any) {
	_, _ = io.WriteString(w, printable(fmt.Sprintf(format, args...))+"\n")
}

// printable returns a text without control characters except tabs and line breaks. It may contain text of pages, models
// and servers, whose control characters could manipulate a terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			return r
		}

		return -1
	}, text)
}

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	st, err := f.Stat()

	return err == nil && st.Mode()&os.ModeCharDevice != 0
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }
