package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/internal/process/supervisor"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/workers/catalog"
)

// completeTime limits how long a shell waits for names.
const completeTime = 2 * time.Second

// complete lets shells complete the arguments of a command and of those below it, by what its usage line says they are.
func (a *app) complete(c *cobra.Command) {
	for _, below := range c.Commands() {
		a.complete(below)
	}
	kinds := strings.Fields(c.Use)[1:]
	if len(kinds) == 0 || !slices.ContainsFunc(kinds, named) && kinds[0] != "NAME" {
		return
	}
	c.ValidArgsFunction = func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		kind := kinds[min(len(args), len(kinds)-1)]
		directive := cobra.ShellCompDirectiveNoFileComp
		if strings.Contains(kind, "SPEC") {
			directive = cobra.ShellCompDirectiveDefault // files, too
		}
		ctx, cancel := context.WithTimeout(c.Context(), completeTime)
		defer cancel()

		return a.names(ctx, kind, args), directive
	}
}

// named reports whether a word of a usage line is a name of the store.
func named(kind string) bool {
	return strings.Contains(kind, "RUN") || strings.Contains(kind, "LINE") || strings.Contains(kind, "SCHEDULE")
}

// names returns the possible values of an argument. There are none where no store answers.
func (a *app) names(ctx context.Context, kind string, args []string) (out []string) {
	if kind == "NAME" {
		return catalog.All{}.EnvironmentNames()
	}
	for word, folder := range map[string]string{"RUN": "runs", "LINE": "lines", "SCHEDULE": "schedules"} {
		if strings.Contains(kind, word) {
			out = append(out, a.folders(ctx, folder)...)
		}
	}
	if strings.HasPrefix(kind, "EPOCH/") && len(args) > 0 {
		if b, _, err := a.bucket(); err == nil {
			out = epochs(ctx, b, runs.Run(args[0]))
		}
	}

	return out
}

// folders returns the folders of a folder of the store: of the files of this data folder, which takes no time, or else
// of a store at an address.
func (a *app) folders(ctx context.Context, name string) []string {
	if dir, own := supervisor.Objects(a.data); own && !a.cluster {
		var out []string
		entries, _ := os.ReadDir(filepath.Join(dir, name))
		for _, e := range entries {
			out = append(out, e.Name())
		}

		return out
	}
	b, _, err := a.bucket()
	if err != nil {
		return nil
	}
	out, _ := store.Folders(ctx, b, name+"/")

	return out
}

// epochs returns the beginnings of EPOCH/SLOT: the epochs that a run has committed, and the next one.
func epochs(ctx context.Context, b store.Bucket, run runs.Run) []string {
	committed, err := run.Committed(ctx, b)
	if err != nil {
		return nil
	}
	var out []string
	for k := 1; k <= committed+1; k++ {
		out = append(out, fmt.Sprintf("%d/", k))
	}

	return out
}
