package main

import (
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/workers/catalog"
)

// envFlags say which environment is meant, outside of a run.
type envFlags struct {
	o    envadapters.Options
	spec string
	tabs int
}

func (f *envFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.o.Data, "files", "", "option data: a folder or file of the environment's (default: $COLLABUI_NAME, such as COLLABUI_MINIWOB)")
	c.Flags().StringSliceVar(&f.o.Servers, "server", nil, "option servers: ws:// addresses (default: $COLLABUI_NAME)")
	c.Flags().StringVar(&f.o.Semantics, "semantics", "", "option of miniwob: standard or mobile")
	c.Flags().StringVar(&f.o.Protocol, "protocol", "", "option of mind2web: official or list")
	c.Flags().StringVar(&f.o.Broken, "broken", "", "option of recorded tasks: stop at a record that cannot be read, or skip it")
	c.Flags().StringVar(&f.spec, "spec", "", "take the options from the environments of this specification `FILE`")
	c.Flags().IntVar(&f.tabs, "tabs", 2, "episodes at once in one browser")
}

// options gives those of an adapter's name, a name under environments of --spec, or an address.
func (f *envFlags) options(name string) (envadapters.Options, error) {
	if f.spec != "" {
		s, err := spec.Load(f.spec, catalog.All{})
		if err != nil {
			return envadapters.Options{}, err
		}
		if _, ok := s.Environments[name]; ok {
			return s.Where(name), nil
		}
	}
	o := f.o
	o.Suite = name
	if strings.HasPrefix(name, "ws://") || strings.HasPrefix(name, "wss://") {
		o.Suite, o.Servers = "openenv", []string{name}
	}
	e, ok := catalog.FindEnvironment(o.Suite)
	if !ok {
		return o, fault.New(fault.Invalid, "no environment %q; there are %s", name, strings.Join(catalog.EnvironmentNames(), ", "))
	}
	if v := os.Getenv("COLLABUI_" + strings.ToUpper(e.Name)); v != "" {
		if o.Data == "" && slices.Contains(e.Takes, "data") {
			o.Data = v
		}
		if len(o.Servers) == 0 && slices.Contains(e.Takes, "servers") {
			o.Servers = strings.Split(v, ",")
		}
	}
	return o, nil
}

func (f *envFlags) open(name string) (envadapters.Suite, error) {
	o, err := f.options(name)
	if err != nil {
		return nil, err
	}
	return catalog.OpenEnvironment(o, catalog.Places{Browsers: 1, Tabs: f.tabs})
}

func envsCmd(a *app) *cobra.Command {
	c := &cobra.Command{Use: "envs", Short: "List, explain, check, serve and add environments"}
	for _, sub := range []*cobra.Command{envsListCmd(a), envsExplainCmd(a), envsCheckCmd(a), envsServeCmd(a), envsNewCmd(a)} {
		sub.Long = longer(sub)
		c.AddCommand(sub)
	}
	return c
}

// listed is one line of the list.
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
	Groups   map[string]int          `json:"groups,omitempty"`
	Splits   map[string][]string     `json:"splits,omitempty"`
}

// look says what an environment offers here; one that cannot be opened says what it lacks.
func (f *envFlags) look(e catalog.Environment) (listed, error) {
	out := listed{Name: e.Name, About: e.About, Recorded: e.Recorded, Level: envadapters.Dead, Fix: e.Get}
	s, err := f.open(e.Name)
	if err != nil {
		out.Detail = err.Error()
		return out, nil
	}
	defer func() { _ = s.Close() }()
	out.Splits, out.Groups = map[string][]string{}, map[string]int{}
	grouped := map[string]bool{}
	for _, split := range s.Splits() {
		ts, err := s.Templates(split)
		if err != nil {
			return out, err
		}
		out.Splits[split] = []string{}
		for _, t := range ts {
			out.Splits[split] = append(out.Splits[split], t.Name)
			if !grouped[t.Group+"/"+t.Name] {
				grouped[t.Group+"/"+t.Name] = true
				out.Groups[t.Group]++
			}
		}
	}
	if len(out.Splits) == 0 {
		out.Detail = "nothing can be read"
		return out, nil
	}
	out.Level, out.Fix, out.Title, out.Family, out.Protocol = envadapters.Ready, "", s.Title(), s.Family(), envadapters.ProtocolOf(s)
	return out, nil
}

func (l listed) text(w io.Writer) {
	if l.Level != envadapters.Ready {
		_, _ = fmt.Fprintf(w, "%-13s %s\n              not here: %s\n", l.Name, l.About, l.Detail)
		return
	}
	_, _ = fmt.Fprintf(w, "%-13s %s\n              %s, %s actions", l.Name, l.About, l.Title, l.Family)
	if l.Protocol != "" {
		_, _ = fmt.Fprintf(w, ", protocol %s", l.Protocol)
	}
	_, _ = fmt.Fprintln(w)
	var splits []string
	for _, k := range sortedKeys(l.Splits) {
		splits = append(splits, fmt.Sprintf("%s %d", k, len(l.Splits[k])))
	}
	_, _ = fmt.Fprintf(w, "              templates: %s\n", strings.Join(splits, ", "))
}

func envsListCmd(a *app) *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "List environments, their splits and templates", Example: "  collabui envs list --json", Args: cobra.NoArgs}
	f := &envFlags{tabs: 1}
	c.RunE = func(*cobra.Command, []string) error {
		for _, e := range catalog.Environments() {
			l, err := f.look(e)
			if err != nil {
				return err
			}
			if err := a.print(l, l.text); err != nil {
				return err
			}
		}
		if !a.json {
			_, _ = fmt.Fprintf(a.out, "\n%s says how to use one, %s whether it can be used here.\n", a.typed("envs explain NAME"), a.typed("envs check NAME"))
		}
		return nil
	}
	return c
}

func envsExplainCmd(a *app) *cobra.Command {
	c := &cobra.Command{Use: "explain NAME", Short: "Say what an environment is, what it needs and how a specification names it", Example: "  collabui envs explain miniwob", Args: cobra.ExactArgs(1)}
	f := &envFlags{}
	f.add(c)
	c.RunE = func(_ *cobra.Command, args []string) error {
		e, ok := catalog.FindEnvironment(args[0])
		if !ok {
			return fault.New(fault.Invalid, "no environment %q; there are %s", args[0], strings.Join(catalog.EnvironmentNames(), ", "))
		}
		l, err := f.look(e)
		if err != nil {
			return err
		}
		return a.print(l, func(w io.Writer) {
			l.text(w)
			_, _ = fmt.Fprintf(w, "\nTo get it: %s\n", e.Get)
			if len(e.Takes) == 0 {
				_, _ = fmt.Fprintf(w, "\nIn a specification:\n  environment: %s\n", e.Name)
				return
			}
			_, _ = fmt.Fprintf(w, "\nIn a specification (docs/specification.md has the options):\n  environments:\n    %s:\n", e.Name)
			for _, o := range e.Takes {
				must := ""
				if slices.Contains(e.Must, o) {
					must = "   # must be given"
				}
				_, _ = fmt.Fprintf(w, "      %s: %s%s\n", o, optionKind(o), must)
			}
			_, _ = fmt.Fprintf(w, "  environment: %s          # to train on it\n  evaluation:\n    out_of_distribution: [{environment: %s, split: SPLIT}]   # or to be evaluated on it at the end\n", e.Name, e.Name)
		})
	}
	return c
}

// optionKind shows what an option holds.
func optionKind(name string) string {
	t := reflect.TypeFor[envadapters.Options]()
	for i := range t.NumField() {
		if t.Field(i).Tag.Get("yaml") == name {
			switch t.Field(i).Type.Kind() {
			case reflect.Int:
				return "N"
			case reflect.Slice:
				return "[…]"
			case reflect.Struct:
				return "{…}"
			}
		}
	}
	return "…"
}
