package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/collabui/collabui/fault"
)

// typed returns a command for use in a sentence, formatted as by command.
func (a *app) typed(format string, args ...any) string { return "`" + a.command(format, args...) + "`" }

// command returns a command line as this user types it: the program as it was called, and --data unless the folder is
// the default. Inserted words are quoted for a shell, so that the line can be pasted.
func (a *app) command(format string, args ...any) string {
	quoted := make([]any, len(args))
	for i, arg := range args {
		if word, ok := arg.(string); ok { // raw ones are quoted already
			arg = operand(word)
		}
		quoted[i] = arg
	}

	line := fault.ShellQuote(os.Args[0]) + " " + fmt.Sprintf(format, quoted...)
	if a.data != defaultData {
		line += " --data " + fault.ShellQuote(a.data)
	}

	return line
}

// proposed matches a command in a sentence of a workflow, which does not know how the user calls the program.
var proposed = regexp.MustCompile("`collabui ([^`]+)`")

// pasteable returns the reason why a run waits, with the commands in it as this user types them.
func (a *app) pasteable(reason string) string {
	return proposed.ReplaceAllStringFunc(reason, func(found string) string {
		return a.typed("%s", raw(proposed.FindStringSubmatch(found)[1]))
	})
}

// raw is a part of a command line that is quoted already.
type raw string

// operand returns a name or a path as an argument of a command, in a form that no program takes for a flag.
func operand(word string) string {
	if strings.HasPrefix(word, "-") {
		word = "./" + word
	}

	return fault.ShellQuote(word)
}
