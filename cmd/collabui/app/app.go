// Package app has what the commands share: their flags, exit codes and errors, the store, the services of the data
// folder and sessions with Temporal. It knows no command, and prints nothing but notes.
package app

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/user"

	"github.com/spf13/pflag"

	"github.com/collabui/collabui/cmd/collabui/terminal"
)

// App holds what all commands share.
type App struct {
	Out, Err io.Writer
	Data     string // data folder
	JSON     bool
	Cluster  bool // start no services here: addresses come from the environment

	Build Build
	leave context.CancelCauseFunc // ends commands attached to the services
}

// envCluster sets --cluster for all commands.
const envCluster = "COLLABUI_CLUSTER"

// DefaultData is the default data folder.
const DefaultData = ".collabui"

// AddFlags adds the flags of all commands.
func (a *App) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&a.Data, "data", DefaultData, "data folder of the local services; each has its own supervisor")
	flags.BoolVar(&a.Cluster, "cluster", os.Getenv(envCluster) == "1",
		"start nothing here: services and workers run elsewhere, at the addresses in the environment "+
			"("+envCluster+"=1)")
	flags.BoolVar(&a.JSON, "json", false, "print JSON instead of text, one object per line")
}

// Print writes value as JSON, or as text.
func (a *App) Print(value any, text func(out io.Writer)) error {
	if a.JSON {
		return json.NewEncoder(a.Out).Encode(value)
	}
	text(a.Out)

	return nil
}

// NewBar returns a bar that shows how far a run is, or another name.
func (a *App) NewBar(name string) *terminal.Bar { return terminal.NewBar(a.Out, a.JSON, name) }

// UserName returns the name of the user, for the records of people's changes.
func UserName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}

	return "unknown"
}
