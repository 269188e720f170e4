package environments

import (
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/cmd/collabui/environments/scaffold"
	"github.com/collabui/collabui/cmd/collabui/terminal"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/workers/catalog"
)

// newOptions are the flags of envs new.
type newOptions struct {
	dir    string
	python bool
}

func envsNewCmd(a *app.App) *cobra.Command {
	var options newOptions
	cmd := &cobra.Command{
		Use:     "new NAME",
		Short:   "Create an environment of your own: an adapter in a checkout, or a folder with one in Python",
		Example: "  collabui envs new panel && make train SPEC=examples/panel.yaml\n  collabui envs new panel --python",
		Args:    cobra.ExactArgs(1),
		RunE:    func(_ *cobra.Command, args []string) error { return runEnvsNew(a, options, args[0]) },
	}
	cmd.Flags().StringVar(&options.dir, "dir", ".", "the checkout, or where the folder in Python begins")
	cmd.Flags().BoolVar(&options.python, "python", false, "write the environment in Python")

	return cmd
}

func runEnvsNew(a *app.App, options newOptions, name string) error {
	if options.python {
		return newPython(a, options, name)
	}

	root, err := scaffold.Root(options.dir)
	if err != nil {
		return err
	}
	files, err := scaffold.New(root, name, catalog.EnvironmentNames())
	if err != nil {
		return err
	}

	return a.Print(map[string]any{"name": name, "files": files}, func(out io.Writer) {
		for _, f := range files {
			terminal.Line(out, "%s", f)
		}
		terminal.Line(out, "\nIt passes its test, and you can train on it. In the checkout:")
		terminal.Line(out, "  go test ./envadapters/%s", name)
		terminal.Line(out, "  go build -o bin/collabui ./cmd/collabui   # until then, bin/collabui does not know it")
		terminal.Line(out, "  bin/collabui envs check %s", fault.ShellQuote(name))
		terminal.Line(out, "  make train SPEC=examples/%s.yaml", name)
		terminal.Line(out, "Then replace its switches by your environment: docs/add-an-environment.md")
	})
}

// newPython writes an environment in Python. Its commands name this program by its path, so they work anywhere.
func newPython(a *app.App, options newOptions, name string) error {
	files, err := scaffold.NewPython(options.dir, name, catalog.EnvironmentNames())
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		program = "collabui"
	}
	next := pythonCommands(a, filepath.Join(options.dir, name), program, pythonPackage(".", program))

	return a.Print(map[string]any{"name": name, "files": files, "next": next}, func(out io.Writer) {
		for _, f := range files {
			terminal.Line(out, "%s", f)
		}
		terminal.Line(out, "\nIt passes its test, and you can train on it (Python 3.10 or later):")
		for _, line := range next {
			terminal.Line(out, "  %s", line)
		}
		terminal.Line(out, "Then replace its switches by your environment: docs/add-an-environment.md")
	})
}

// pythonPackage returns the operand with which pip installs the package for environments in Python: the folder of the
// checkout that contains dir or, without one, the wheel that a release has beside the program or in share/collabui.
func pythonPackage(dir, program string) string {
	if root, err := scaffold.Root(dir); err == nil {
		return fault.ShellQuote(filepath.Join(root, "python"))
	}

	beside := filepath.Dir(program)
	for _, folder := range []string{beside, filepath.Join(beside, "..", "share", "collabui")} {
		wheels, _ := filepath.Glob(filepath.Join(folder, "collabui_env-*.whl"))
		if len(wheels) > 0 {
			return fault.ShellQuote(wheels[len(wheels)-1])
		}
	}

	return "collabui_env-*.whl   # a file of collabui's release"
}

// pythonCommands returns the commands to type next for an environment in Python in a folder: program is this program,
// and pkg is what pip installs.
func pythonCommands(a *app.App, dir, program, pkg string) []string {
	in := func(name string) string { return app.Operand(filepath.Join(dir, name)) }

	return []string{
		"python3 -m venv " + in(".venv") + " && . " + in(".venv/bin/activate"),
		"pip install " + pkg,
		"python -m unittest discover " + app.Operand(dir),
		"COLLABUI=" + fault.ShellQuote(program) + " python -m collabui_env check " + in("environment.py"),
		"python -m collabui_env serve " + in("environment.py") + " &",
		a.Command("train %s", filepath.Join(dir, filepath.Base(dir)+".yaml")),
	}
}
