package terminal

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
)

// Confirm asks a question and reports whether the answer is yes. If standard input or out is not a terminal, it asks
// nothing and returns true: the author of a script has decided before.
func Confirm(out io.Writer, question string) bool {
	if !isTerminal(os.Stdin) || !isTerminal(out) {
		return true
	}

	return confirm(os.Stdin, out, question)
}

// confirm reads the answer to a question.
func confirm(in io.Reader, out io.Writer, question string) bool {
	_, _ = fmt.Fprint(out, Printable(question)+" [y/N] ")
	line, _ := bufio.NewReader(in).ReadString('\n') // no answer is no
	answer := strings.ToLower(strings.TrimSpace(line))

	return answer == "y" || answer == "yes"
}
