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
	"github.com/collabui/collabui/internal/process/config"
	"github.com/collabui/collabui/internal/process/supervisor"
	"github.com/collabui/collabui/internal/store"
)

// app is what all commands share.
type app struct {
	out, err io.Writer
	data     string // data folder
	json     bool
	cluster  bool // start nothing here: addresses come from the environment

	leave context.CancelCauseFunc // ends what is attached to the services
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

// endpoints returns the addresses of the services: of the data folder if its supervisor runs, otherwise of the
// environment.
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

// local refuses a command that manages services of this machine if they run on a cluster.
func (a *app) local() error {
	if a.cluster {
		return fault.New(fault.Invalid,
			"--cluster (or %s): no service runs here; start and stop services and workers on their own hosts",
			envCluster)
	}

	return nil
}

// typed returns a command in a sentence, as command does.
func (a *app) typed(format string, args ...any) string { return "`" + a.command(format, args...) + "`" }

// command returns a command line as this user types it: with the program as it was called, and with --data unless the
// folder is the default. The words that are inserted are quoted for a shell, so that the line can be pasted.
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

// proposed matches a command in a sentence of a workflow, which does not know how a person calls the program.
var proposed = regexp.MustCompile("`collabui ([^`]+)`")

// pasteable returns the reason for which a run waits, with the commands in it as this user types them.
func (a *app) pasteable(reason string) string {
	return proposed.ReplaceAllStringFunc(reason, func(found string) string {
		return a.typed("%s", raw(proposed.FindStringSubmatch(found)[1]))
	})
}

// raw is a part of a command line that is quoted already.
type raw string

// operand returns a name or a path as an argument of a command: no program takes it for a flag.
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

// say prints a line to w. Errors of a terminal or a pipe are not reported.
func say(w io.Writer, format string, args ...any) {
	_, _ = io.WriteString(w, printable(fmt.Sprintf(format, args...))+"\n")
}

// printable returns a text without control characters but tabs and line breaks: texts of pages, models and servers are
// in it, which could steer a terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			return r
		}

		return -1
	}, text)
}
