package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/domain"
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
	a.completeFlags(c)
	kinds := strings.Fields(c.Use)[1:]
	if len(kinds) == 0 || !slices.ContainsFunc(kinds, named) && !environment(kinds[0]) {
		return
	}
	c.ValidArgsFunction = func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		kind := kinds[min(len(args), len(kinds)-1)]
		directive := cobra.ShellCompDirectiveNoFileComp
		if strings.Contains(kind, "SPEC") || strings.Contains(kind, "FILE") || kind == "FROM" || kind == "TO" {
			directive = cobra.ShellCompDirectiveDefault // files, too
		}
		ctx, cancel := context.WithTimeout(c.Context(), completeTime)
		defer cancel()

		return a.names(ctx, kind, args), directive
	}
}

// completeFlags lets shells complete the values of a command's flags.
func (a *app) completeFlags(c *cobra.Command) {
	for flag, kind := range map[string]string{
		"epoch": "EPOCH", "line": "LINE", "environment": "NAME", "split": "SPLIT",
	} {
		if c.Flags().Lookup(flag) == nil {
			continue
		}
		_ = c.RegisterFlagCompletionFunc(flag, func(c *cobra.Command, args []string, _ string) (
			[]string, cobra.ShellCompDirective,
		) {
			ctx, cancel := context.WithTimeout(c.Context(), completeTime)
			defer cancel()

			return a.names(ctx, kind, args), cobra.ShellCompDirectiveNoFileComp
		})
	}
}

// environment reports whether a word of a usage line is the name of an environment.
func environment(kind string) bool { return kind == "NAME" || strings.HasPrefix(kind, "[NAME|") }

// named reports whether a word of a usage line is a name of the store.
func named(kind string) bool {
	return strings.Contains(kind, "RUN") || strings.Contains(kind, "LINE") || strings.Contains(kind, "SCHEDULE")
}

// names returns the possible values of an argument. There are none where no store answers.
func (a *app) names(ctx context.Context, kind string, args []string) (out []string) {
	switch {
	case environment(kind):
		return catalog.All{}.EnvironmentNames()
	case kind == "SPLIT":
		return append(slices.Clone(domain.Splits), domain.SplitTestApps)
	}
	for word, folder := range map[string]string{
		"RUN": "runs", "EXPERIMENT": "experiments", "LINE": "lines", "SCHEDULE": "schedules",
	} {
		if strings.Contains(kind, word) {
			out = append(out, a.folders(ctx, folder)...)
		}
	}
	if kind = strings.TrimPrefix(kind, "["); strings.HasPrefix(kind, "EPOCH") && len(args) > 0 {
		if b, _, err := a.bucket(); err == nil {
			out = epochs(ctx, b, runs.Run(args[0]), strings.HasPrefix(kind, "EPOCH/"))
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
	out, _ := b.Folders(ctx, name+"/")

	return out
}

// epochs returns the epochs that a run has committed or, if slots follow, the beginnings of EPOCH/SLOT, of the epoch
// that is open, too.
func epochs(ctx context.Context, b store.Bucket, run runs.Run, slots bool) (out []string) {
	committed, err := run.Committed(ctx, b)
	if err != nil {
		return nil
	}
	for k := 1; k <= committed; k++ {
		out = append(out, strconv.Itoa(k))
	}
	if !slots {
		return out
	}
	if s, err := run.Current(ctx, b); err == nil && committed < s.Epochs {
		out = append(out, strconv.Itoa(committed+1))
	}
	for i := range out {
		out[i] += "/"
	}

	return out
}
