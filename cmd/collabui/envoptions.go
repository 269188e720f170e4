package main

import (
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/workers/catalog"
)

// envOptions are the flags of commands that open an environment outside of a run.
type envOptions struct {
	set  []string
	spec string
	tabs int
}

func (o *envOptions) addFlags(f *pflag.FlagSet) {
	f.StringArrayVar(&o.set, "set", nil,
		"set an option of an environment, as `environments.NAME.OPTION=VALUE`; may be repeated "+
			"(`collabui envs explain NAME` lists the options; $COLLABUI_NAME is the default of data or servers)")
	f.StringVar(&o.spec, "spec", "", "take the options from the environments of this specification `FILE`")
	f.IntVar(&o.tabs, "tabs", 2, "concurrent episodes in one browser")
}

// open opens an environment by its name or address.
func (o *envOptions) open(name string) (envadapters.Suite, error) {
	options, err := o.resolve(name)
	if err != nil {
		return nil, err
	}

	return catalog.OpenEnvironment(options, catalog.Places{Browsers: 1, Tabs: o.tabs})
}

// options returns the options of an environment of a run's specification by its name there, or of any other
// environment.
func (o *envOptions) options(name string, s spec.Spec) (envadapters.Options, error) {
	if _, ok := s.Environments[name]; !ok && name != s.Environment {
		return o.resolve(name)
	}
	options := s.Where(name)

	return options, o.apply(name, &options)
}

// resolve returns the options of an adapter, of a name under environments of --spec, or of an address.
func (o *envOptions) resolve(name string) (envadapters.Options, error) {
	if o.spec != "" {
		s, err := loadSpec(o.spec)
		if err != nil {
			return envadapters.Options{}, err
		}
		if _, ok := s.Environments[name]; ok {
			options := s.Where(name)
			return options, o.apply(name, &options)
		}
	}

	options := envadapters.Options{Suite: name}
	if isAddress(name) {
		options.Suite, options.Servers = addressed, []string{name}
	}
	adapter, err := findAdapter(options.Suite)
	if err != nil {
		return options, err
	}
	if err := o.apply(adapter.Name, &options); err != nil {
		return options, err
	}
	applyEnvironment(adapter, &options)

	return options, nil
}

// addressed is the adapter of environments that are named by an address.
const addressed = "openenv"

func isAddress(name string) bool {
	return strings.HasPrefix(name, "ws://") || strings.HasPrefix(name, "wss://")
}

// findAdapter returns an adapter by its name, or an invalid fault that lists all adapters.
func findAdapter(name string) (catalog.Environment, error) {
	e, ok := catalog.FindEnvironment(name)
	if !ok {
		return e, fault.New(fault.Invalid, "no environment %q; there are %s",
			name, strings.Join(catalog.EnvironmentNames(), ", "))
	}

	return e, nil
}

// applyEnvironment sets data or servers from COLLABUI_NAME unless they are set already.
func applyEnvironment(e catalog.Environment, to *envadapters.Options) {
	value := os.Getenv("COLLABUI_" + strings.ToUpper(e.Name))
	if value == "" {
		return
	}
	if to.Data == "" && slices.Contains(e.Takes, "data") {
		to.Data = value
	}
	if len(to.Servers) == 0 && slices.Contains(e.Takes, "servers") {
		to.Servers = strings.Split(value, ",")
	}
}

// apply applies --set to the options of the environment with this name.
func (o *envOptions) apply(name string, to *envadapters.Options) error {
	for _, one := range o.set {
		x, err := parseSetting(one)
		if err != nil {
			return err
		}
		if x.environment != name {
			continue
		}
		e, err := findAdapter(to.Suite)
		if err != nil {
			return err
		}
		if !slices.Contains(e.Takes, x.path[0]) {
			return x.unknown(e.Takes)
		}
		if err := x.assign(reflect.ValueOf(to).Elem(), x.path); err != nil {
			return err
		}
	}

	return nil
}

// only refuses settings of other environments than those that a command uses: they would be ignored.
func (o *envOptions) only(names ...string) error {
	names = slices.Clone(names)
	for i, name := range names {
		if isAddress(name) {
			names[i] = addressed
		}
	}
	for _, one := range o.set {
		x, err := parseSetting(one)
		if err != nil {
			return err
		}
		if !slices.Contains(names, x.environment) {
			return fault.New(fault.Invalid, "--set %s: this command uses %s, not %s",
				one, strings.Join(names, ", "), x.environment)
		}
	}

	return nil
}

// setting is one --set: environments.NAME.OPTION=VALUE.
type setting struct {
	key         string
	environment string
	path        []string // path of the option
	value       string
}

func parseSetting(text string) (setting, error) {
	key, value, ok := strings.Cut(text, "=")
	parts := strings.Split(key, ".")
	if !ok || len(parts) < 3 || parts[0] != "environments" {
		return setting{}, fault.New(fault.Invalid, "--set %s: expected environments.NAME.OPTION=VALUE", text)
	}

	return setting{key: key, environment: parts[1], path: parts[2:], value: value}, nil
}

func (x setting) unknown(known []string) error {
	if len(known) == 0 {
		return fault.New(fault.Invalid, "--set %s: unknown option; %s takes no options", x.key, x.environment)
	}

	return fault.New(fault.Invalid, "--set %s: unknown option; known are %s", x.key, strings.Join(known, ", "))
}

// assign sets the field of v at a path of names, as specifications spell them. The elements of a list are separated by
// commas.
func (x setting) assign(v reflect.Value, path []string) error {
	if v.Kind() == reflect.Struct && len(path) > 0 {
		var known []string
		for i := range v.NumField() {
			name := v.Type().Field(i).Tag.Get("yaml")
			if name == path[0] {
				return x.assign(v.Field(i), path[1:])
			}
			known = append(known, name)
		}

		return x.unknown(known)
	}
	if v.Kind() == reflect.Map && len(path) == 1 {
		if v.IsNil() {
			v.Set(reflect.MakeMap(v.Type()))
		}
		v.SetMapIndex(reflect.ValueOf(path[0]), reflect.ValueOf(x.value))

		return nil
	}
	if len(path) > 0 || v.Kind() == reflect.Struct || v.Kind() == reflect.Map {
		return fault.New(fault.Invalid, "--set %s: not the key of a single option", x.key)
	}

	return x.scalar(v)
}

// scalar sets a field that is not a struct or a map.
func (x setting) scalar(v reflect.Value) error {
	switch v.Kind() {
	case reflect.String:
		v.SetString(x.value)
	case reflect.Slice:
		v.Set(reflect.ValueOf(strings.Split(x.value, ",")))
	case reflect.Int:
		n, err := strconv.Atoi(x.value)
		if err != nil {
			return fault.New(fault.Invalid, "--set %s: expected a whole number, not %q", x.key, x.value)
		}
		v.SetInt(int64(n))
	case reflect.Float64:
		n, err := strconv.ParseFloat(x.value, 64)
		if err != nil {
			return fault.New(fault.Invalid, "--set %s: expected a number, not %q", x.key, x.value)
		}
		v.SetFloat(n)
	default:
		return fault.New(fault.Fatal, "--set %s: an option of kind %s cannot be set", x.key, v.Kind())
	}

	return nil
}
