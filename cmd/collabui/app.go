package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/pflag"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/config"
	"github.com/collabui/collabui/internal/local/supervisor"
	"github.com/collabui/collabui/internal/store"
)

// app holds what all commands share.
type app struct {
	out, err io.Writer
	data     string // data folder
	json     bool
	cluster  bool // start no services here: addresses come from the environment

	leave context.CancelCauseFunc // ends commands attached to the services
}

// envCluster sets --cluster for all commands.
const envCluster = "COLLABUI_CLUSTER"

// defaultData is the default data folder.
const defaultData = ".collabui"

func (a *app) addFlags(f *pflag.FlagSet) {
	f.StringVar(&a.data, "data", defaultData, "data folder of the local services; each has its own supervisor")
	f.BoolVar(&a.cluster, "cluster", os.Getenv(envCluster) == "1",
		"start nothing here: services and workers run elsewhere, at the addresses in the environment "+
			"("+envCluster+"=1)")
	f.BoolVar(&a.json, "json", false, "print JSON instead of text, one object per line")
}

// print writes v as JSON, or as text.
func (a *app) print(v any, text func(w io.Writer)) error {
	if a.json {
		return json.NewEncoder(a.out).Encode(v)
	}
	text(a.out)

	return nil
}

// endpoints returns the addresses of the services: the data folder's if its supervisor runs, otherwise the
// environment's.
func (a *app) endpoints() (config.Endpoints, error) {
	if _, alive := supervisor.Read(a.data); alive && !a.cluster {
		return supervisor.Endpoints(a.data)
	}

	e, err := config.FromEnv()
	switch {
	case err != nil:
		return e, err
	case a.cluster:
		return e, e.Complete()
	case e.Store.Endpoint == "":
		return e, fault.New(fault.Transient, "nothing runs for %s: start it with %s, or set %s and the other addresses",
			a.data, a.typed("up"), config.EnvS3)
	}

	return e, nil
}

// bucket opens the store.
func (a *app) bucket() (store.Keeper, config.Endpoints, error) {
	e, err := a.endpoints()
	if err != nil {
		return nil, e, err
	}
	b, err := e.OpenStore()

	return b, e, err
}

// local returns an error if the services run on a cluster, for a command that manages services of this machine.
func (a *app) local() error {
	if a.cluster {
		return fault.New(fault.Invalid,
			"--cluster (or %s): no service runs here; start and stop services and workers on their own hosts",
			envCluster)
	}

	return nil
}

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

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	st, err := f.Stat()

	return err == nil && st.Mode()&os.ModeCharDevice != 0
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

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
