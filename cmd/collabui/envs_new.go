package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/cmd/collabui/scaffold"
	"github.com/collabui/collabui/workers/catalog"
)

// newOptions are the flags of envs new.
type newOptions struct {
	dir string
}

func envsNewCmd(a *app) *cobra.Command {
	var o newOptions
	c := &cobra.Command{
		Use:     "new NAME",
		Short:   "Create a custom adapter in a checkout",
		Example: "  collabui envs new panel && make train SPEC=examples/panel.yaml",
		Args:    cobra.ExactArgs(1),
		RunE:    func(_ *cobra.Command, args []string) error { return a.runEnvsNew(o, args[0]) },
	}
	c.Flags().StringVar(&o.dir, "dir", ".", "the checkout")

	return c
}

func (a *app) runEnvsNew(o newOptions, name string) error {
	root, err := scaffold.Root(o.dir)
	if err != nil {
		return err
	}
	files, err := scaffold.New(root, name, catalog.EnvironmentNames())
	if err != nil {
		return err
	}

	return a.print(map[string]any{"name": name, "files": files}, func(w io.Writer) {
		for _, f := range files {
			say(w, "%s", f)
		}
		say(w, "\nIt passes its test, and you can train on it. In the checkout:")
		say(w, "  go test ./envadapters/%s", name)
		say(w, "  go build -o bin/collabui ./cmd/collabui   # until then, bin/collabui does not know it")
		say(w, "  bin/collabui envs check %s", name)
		say(w, "  make train SPEC=examples/%s.yaml", name)
		say(w, "Then replace its switches by your environment: docs/add-an-environment.md")
	})
}
