package environments

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/cmd/collabui/terminal"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/workers/catalog"
)

func envsCmd(a *app.App) *cobra.Command {
	c := &cobra.Command{Use: "envs", Short: "List, check, serve and add environments"}
	subcommands := []*cobra.Command{
		envsListCmd(a), envsCheckCmd(a), envsServeCmd(a), envsNewCmd(a),
	}
	for _, sub := range subcommands {
		sub.Long = app.LongHelp(sub)
		c.AddCommand(sub)
	}

	return c
}

func envsListCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:     "list [NAME]",
		Short:   "List environments, their splits and templates, or what NAME needs and how a specification names it",
		Example: "  collabui envs list --json\n  collabui envs list miniwob",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 {
				return explainEnvironment(a, args[0])
			}
			return listEnvironments(a)
		},
	}
}

func listEnvironments(a *app.App) error {
	for _, e := range catalog.Environments() {
		l, err := look(e)
		if err != nil {
			return err
		}
		if err := a.Print(l, l.text); err != nil {
			return err
		}
	}
	if !a.JSON {
		terminal.Line(a.Out, "\n%s says how to use one, %s whether it can be used here.",
			a.Typed("envs list NAME"), a.Typed("envs check NAME"))
	}

	return nil
}

func explainEnvironment(a *app.App, name string) error {
	e, err := app.FindAdapter(name)
	if err != nil {
		return err
	}
	l, err := look(e)
	if err != nil {
		return err
	}

	return a.Print(l, func(w io.Writer) {
		l.text(w)
		printUse(w, e)
	})
}

// listed describes what an environment offers on this machine.
type listed struct {
	Name     string                  `json:"name"`
	About    string                  `json:"about"`
	Recorded bool                    `json:"recorded"`
	Level    envadapters.HealthState `json:"level"`
	Detail   string                  `json:"detail,omitempty"`
	Fix      string                  `json:"fix,omitempty"`
	Title    string                  `json:"title,omitempty"`
	Family   domain.Family           `json:"family,omitempty"`
	Protocol string                  `json:"protocol,omitempty"`
	Splits   map[string][]string     `json:"splits,omitempty"` // names of templates, by split
}

// look opens an environment and lists its templates. If it cannot be opened, the result describes what it lacks.
func look(e catalog.Environment) (listed, error) {
	l := listed{Name: e.Name, About: e.About, Recorded: e.Recorded, Level: envadapters.Dead, Fix: e.Get}
	suite, err := (&app.EnvironmentOptions{Tabs: 1}).Open(e.Name)
	if err != nil {
		l.Detail = err.Error()
		return l, nil
	}
	defer func() { _ = suite.Close() }()
	if err := l.addTemplates(suite); err != nil {
		return l, err
	}
	if len(l.Splits) == 0 {
		l.Detail = "it has no tasks that can be read"
		return l, nil
	}
	l.Level, l.Fix = envadapters.Ready, ""
	l.Title, l.Family, l.Protocol = suite.Title(), suite.Family(), envadapters.ProtocolOf(suite)

	return l, nil
}

func (l *listed) addTemplates(suite envadapters.Suite) error {
	l.Splits = map[string][]string{}
	for _, split := range suite.Splits() {
		templates, err := suite.Templates(split)
		if err != nil {
			return err
		}
		l.Splits[split] = []string{}
		for _, t := range templates {
			l.Splits[split] = append(l.Splits[split], t.Name)
		}
	}

	return nil
}

func (l listed) text(w io.Writer) {
	terminal.Line(w, "%-13s %s", l.Name, l.About)
	if l.Level != envadapters.Ready {
		terminal.Line(w, "              not available: %s", l.Detail)
		return
	}
	protocol := ""
	if l.Protocol != "" {
		protocol = ", protocol " + l.Protocol
	}
	terminal.Line(w, "              %s, %s actions%s", l.Title, l.Family, protocol)

	var splits []string
	for _, split := range slices.Sorted(maps.Keys(l.Splits)) {
		splits = append(splits, fmt.Sprintf("%s %d", split, len(l.Splits[split])))
	}
	terminal.Line(w, "              templates: %s", strings.Join(splits, ", "))
}

// printUse explains how to get an environment, and how a specification names it.
func printUse(w io.Writer, e catalog.Environment) {
	terminal.Line(w, "\nTo get it: %s", e.Get)
	if len(e.Takes) == 0 {
		terminal.Line(w, "\nIn a specification:\n  environment: %s", e.Name)
		return
	}
	terminal.Line(w, "\nIn a specification (docs/specification.md explains the options):\n  environments:\n    %s:", e.Name)
	for _, option := range e.Takes {
		required := ""
		if slices.Contains(e.Must, option) {
			required = "   # required"
		}
		terminal.Line(w, "      %s: …%s", option, required)
	}
	terminal.Line(w, "  environment: %s          # to train on it", e.Name)
	terminal.Line(w, "  evaluation:")
	terminal.Line(w, "    out_of_distribution: [{environment: %s, split: SPLIT}]   # or to be evaluated on it at the end", e.Name)
}
