package app

import (
	"cmp"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/workers/catalog"
)

// EnvironmentOptions are the flags of commands that open an environment outside a run.
type EnvironmentOptions struct {
	spec string
	Tabs int
}

// AddFlags adds the flags that choose an environment's options.
func (o *EnvironmentOptions) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.spec, "spec", "", "take the options of the environment from this specification `FILE` "+
		"(`collabui envs list NAME` lists them; without it, $COLLABUI_NAME is data or servers)")
	flags.IntVar(&o.Tabs, "tabs", 0, "concurrent episodes (default 2 in one browser, 1 of a server)")
}

// AtOnce returns the number of concurrent episodes.
func (o *EnvironmentOptions) AtOnce() int { return cmp.Or(o.Tabs, 2) }

// Open opens an environment by its name or address.
func (o *EnvironmentOptions) Open(name string) (envadapters.Suite, error) {
	options, err := o.Resolve(name)
	if err != nil {
		return nil, err
	}

	return catalog.OpenEnvironment(options, catalog.Places{Browsers: 1, Tabs: o.AtOnce()})
}

// Options returns the options of an environment that a run's specification names, or of any other environment.
func (o *EnvironmentOptions) Options(name string, specification spec.Spec) (envadapters.Options, error) {
	if _, ok := specification.Environments[name]; ok || name == specification.Environment {
		return specification.Where(name), nil
	}

	return o.Resolve(name)
}

// Resolve returns the options for the name of an adapter, for a name under environments in --spec, or for an address.
func (o *EnvironmentOptions) Resolve(name string) (envadapters.Options, error) {
	if o.spec != "" {
		specification, err := LoadSpec(o.spec)
		if err != nil {
			return envadapters.Options{}, err
		}
		if _, ok := specification.Environments[name]; !ok {
			return envadapters.Options{}, fault.New(fault.Invalid, "--spec %s: there is no %s under environments",
				o.spec, name)
		}

		return specification.Where(name), nil
	}
	if isAddress(name) {
		return envadapters.Options{Suite: addressed, Servers: []string{name}, Places: o.Tabs}, nil
	}

	options := envadapters.Options{Suite: name}
	adapter, err := FindAdapter(name)
	applyEnvironment(adapter, &options)

	return options, err
}

// addressed is the adapter of environments that are given by address.
const addressed = "openenv"

func isAddress(name string) bool {
	return strings.HasPrefix(name, "ws://") || strings.HasPrefix(name, "wss://")
}

// FindAdapter returns the adapter of a name, or an invalid fault that lists all adapters.
func FindAdapter(name string) (catalog.Environment, error) {
	environment, ok := catalog.FindEnvironment(name)
	if !ok {
		return environment, fault.New(fault.Invalid, "no environment %q; there are %s",
			name, strings.Join(catalog.EnvironmentNames(), ", "))
	}

	return environment, nil
}

// applyEnvironment sets data or servers from the variable COLLABUI_NAME.
func applyEnvironment(environment catalog.Environment, to *envadapters.Options) {
	value := os.Getenv("COLLABUI_" + strings.ToUpper(environment.Name))
	if value == "" {
		return
	}
	if slices.Contains(environment.Takes, "data") {
		to.Data = value
	}
	if slices.Contains(environment.Takes, "servers") {
		to.Servers = strings.Split(value, ",")
	}
}
