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
	cmd := &cobra.Command{Use: "envs", Short: "List, check, serve and add environments"}
	subcommands := []*cobra.Command{
		envsListCmd(a), envsCheckCmd(a), envsServeCmd(a), envsNewCmd(a),
	}
	for _, sub := range subcommands {
		sub.Long = app.LongHelp(sub)
		cmd.AddCommand(sub)
	}

	return cmd
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
	for _, environment := range catalog.Environments() {
		listing, err := inspectEnvironment(environment)
		if err != nil {
			return err
		}
		if err := a.Print(listing, listing.text); err != nil {
			return err
		}
	}
	if !a.JSON {
		terminal.Line(a.Out, "\n%s explains how to use one, and %s whether it works here.",
			a.Typed("envs list NAME"), a.Typed("envs check NAME"))
	}

	return nil
}

func explainEnvironment(a *app.App, name string) error {
	environment, err := app.FindAdapter(name)
	if err != nil {
		return err
	}
	listing, err := inspectEnvironment(environment)
	if err != nil {
		return err
	}

	return a.Print(listing, func(out io.Writer) {
		listing.text(out)
		printUse(out, environment)
	})
}

// environmentInfo describes what an environment offers on this machine.
type environmentInfo struct {
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

// inspectEnvironment opens an environment and lists its templates. If it cannot be opened, the result describes what it
// lacks.
func inspectEnvironment(environment catalog.Environment) (environmentInfo, error) {
	listing := environmentInfo{Name: environment.Name, About: environment.About, Recorded: environment.Recorded,
		Level: envadapters.Dead, Fix: environment.Get}
	suite, health, err := open(app.EnvironmentOptions{Tabs: 1}, environment.Name)
	if suite == nil || err != nil {
		listing.Level = health.State
		listing.Detail = health.Detail

		return listing, err
	}
	defer func() { _ = suite.Close() }()
	if err := listing.addTemplates(suite); err != nil {
		return listing, err
	}
	if len(listing.Splits) == 0 {
		listing.Detail = "it has no tasks that can be read"
		return listing, nil
	}
	listing.Level = envadapters.Ready
	listing.Fix = ""
	listing.Title = suite.Title()
	listing.Family = suite.Family()
	listing.Protocol = envadapters.ProtocolOf(suite)

	return listing, nil
}

func (l *environmentInfo) addTemplates(suite envadapters.Suite) error {
	l.Splits = map[string][]string{}
	for _, split := range suite.Splits() {
		templates, err := suite.Templates(split)
		if err != nil {
			return err
		}
		l.Splits[split] = []string{}
		for _, template := range templates {
			l.Splits[split] = append(l.Splits[split], template.Name)
		}
	}

	return nil
}

func (l environmentInfo) text(out io.Writer) {
	terminal.Line(out, "%-13s %s", l.Name, l.About)
	if l.Level != envadapters.Ready {
		terminal.Line(out, "              not available: %s", l.Detail)
		return
	}
	protocol := ""
	if l.Protocol != "" {
		protocol = ", protocol " + l.Protocol
	}
	terminal.Line(out, "              %s, %s actions%s", l.Title, l.Family, protocol)

	var splits []string
	for _, split := range slices.Sorted(maps.Keys(l.Splits)) {
		splits = append(splits, fmt.Sprintf("%s %d", split, len(l.Splits[split])))
	}
	terminal.Line(out, "              templates: %s", strings.Join(splits, ", "))
}

// printUse explains how to get an environment, and how a specification names it.
func printUse(out io.Writer, environment catalog.Environment) {
	terminal.Line(out, "\nTo get it: %s", environment.Get)
	if len(environment.Takes) == 0 {
		terminal.Line(out, "\nIn a specification:\n  environment: %s", environment.Name)
		return
	}
	terminal.Line(out, "\nIn a specification (docs/specification.md explains the options):\n  environments:\n    %s:",
		environment.Name)
	for _, option := range environment.Takes {
		required := ""
		if slices.Contains(environment.Must, option) {
			required = "   # required"
		}
		terminal.Line(out, "      %s: …%s", option, required)
	}
	terminal.Line(out, "  environment: %s          # to train on it", environment.Name)
	terminal.Line(out, "  evaluation:")
	terminal.Line(out,
		"    out_of_distribution: [{environment: %s, split: SPLIT}]   # or to be evaluated on it at the end",
		environment.Name)
}
