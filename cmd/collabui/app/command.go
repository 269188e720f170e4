package app

import (
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/collabui/collabui/fault"
)

// Typed returns a command for use in a sentence, formatted as by command.
func (a *App) Typed(format string, args ...any) string { return "`" + a.Command(format, args...) + "`" }

// Command returns a command line as this user types it: the program as it was called, and --data unless the folder is
// the default. Inserted words are quoted for a shell, so that the line can be pasted.
func (a *App) Command(format string, args ...any) string {
	quoted := make([]any, len(args))
	for i, arg := range args {
		if word, ok := arg.(string); ok { // raw ones are quoted already
			arg = Operand(word)
		}
		quoted[i] = arg
	}

	line := fault.ShellQuote(os.Args[0]) + " " + fmt.Sprintf(format, quoted...)
	if a.Data != DefaultData {
		line += " --data " + fault.ShellQuote(a.Data)
	}

	return line
}

// proposed matches a command in a sentence of a workflow, which does not know how the user calls the program.
var proposed = regexp.MustCompile("`collabui ([^`]+)`")

// Pasteable returns the reason why a run waits, with the commands in it as this user types them.
func (a *App) Pasteable(reason string) string {
	return proposed.ReplaceAllStringFunc(reason, func(found string) string {
		return a.Typed("%s", raw(proposed.FindStringSubmatch(found)[1]))
	})
}

// raw is a part of a command line that is quoted already.
type raw string

// Operand returns a name or a path as an argument of a command, in a form that no program takes for a flag.
func Operand(word string) string {
	if strings.HasPrefix(word, "-") {
		word = "./" + word
	}

	return fault.ShellQuote(word)
}
