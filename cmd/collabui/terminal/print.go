// Package terminal prints lines and the progress of a command, to a terminal, a pipe or a program that reads JSON. It
// knows neither the flags of the commands nor what they are about.
package terminal

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"

	"golang.org/x/term"
)

// Line prints a line to out. Errors of a terminal or a pipe are ignored.
func Line(out io.Writer, format string, args ...any) {
	_, _ = io.WriteString(out, Printable(fmt.Sprintf(format, args...))+"\n")
}

// Printable returns a text without control characters except tabs and line breaks. It may contain text of pages, models
// and servers, whose control characters could manipulate a terminal.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			return r
		}

		return -1
	}, text)
}

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)

	return ok && term.IsTerminal(int(file.Fd()))
}

// Megabytes returns a number of bytes as text, in units of 10⁶.
func Megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }
