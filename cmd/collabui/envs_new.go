package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/cmd/collabui/scaffold"
	"github.com/collabui/collabui/workers/catalog"
)

func envsNewCmd(a *app) *cobra.Command {
	c := &cobra.Command{Use: "new NAME", Short: "Write the beginnings of an adapter of your own, in a checkout", Example: "  collabui envs new panel && make train SPEC=examples/panel.yaml", Args: cobra.ExactArgs(1)}
	dir := c.Flags().String("dir", ".", "the checkout")
	c.RunE = func(_ *cobra.Command, args []string) error {
		root, err := scaffold.Root(*dir)
		if err != nil {
			return err
		}
		files, err := scaffold.New(root, args[0], catalog.EnvironmentNames())
		if err != nil {
			return err
		}
		return a.print(map[string]any{"name": args[0], "files": files}, func(w io.Writer) {
			for _, f := range files {
				_, _ = fmt.Fprintln(w, f)
			}
			_, _ = fmt.Fprintf(w, "\nIt compiles and can be trained on as it is:\n  go test ./envadapters/%[1]s\n  make train SPEC=examples/%[1]s.yaml\nThen put your environment in the place of its switches: docs/add-an-environment.md\n", args[0])
		})
	}
	return c
}
