package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/user"

	"github.com/spf13/pflag"

	"github.com/collabui/collabui/cmd/collabui/terminal"
)

// app holds what all commands share.
type app struct {
	out, err io.Writer
	data     string // data folder
	json     bool
	cluster  bool // start no services here: addresses come from the environment

	build version
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

// newBar returns a bar that shows how far a run is, or another name.
func (a *app) newBar(name string) *terminal.Bar { return terminal.NewBar(a.out, a.json, name) }

// userName returns the name of the user, for the records of people's changes.
func userName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}

	return "unknown"
}
