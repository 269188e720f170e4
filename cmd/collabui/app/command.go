package app

import (
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/fault"
)

// Typed returns a command for use in a sentence, formatted as by command.
func (a *App) Typed(format string, args ...any) string { return "`" + a.Command(format, args...) + "`" }

// TypedHelp returns the command that prints the help of a command.
func (a *App) TypedHelp(cmd *cobra.Command) string {
	return a.Typed("%s --help", raw(strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")))
}

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

// Pasteable returns a sentence, such as the reason why a run waits, with the commands in it as this user types them.
func (a *App) Pasteable(sentence string) string {
	return proposed.ReplaceAllStringFunc(sentence, func(found string) string {
		line := proposed.FindStringSubmatch(found)[1]
		if strings.Contains(line, " --data ") {
			return "`" + fault.ShellQuote(os.Args[0]) + " " + line + "`"
		}

		return a.Typed("%s", raw(line))
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
