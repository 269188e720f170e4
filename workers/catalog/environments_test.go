package catalog

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
)

func TestEveryEnvironmentTakesOptionsThatExistAndSaysHowToGetIt(t *testing.T) {
	var known []string
	for f := range reflect.TypeFor[envadapters.Options]().Fields() {
		known = append(known, option(f))
	}

	seen := map[string]bool{}
	for _, e := range Environments() {
		t.Run(e.Name, func(t *testing.T) {
			if e.About == "" || e.Get == "" || e.Open == nil {
				t.Errorf("got %+v, want About, Get and Open", e)
			}
			if seen[e.Name] {
				t.Errorf("got the name %q twice, want it once", e.Name)
			}
			seen[e.Name] = true

			for _, o := range e.Takes {
				if !slices.Contains(known, o) {
					t.Errorf("takes %q, want one of %v", o, known)
				}
			}
			for _, o := range e.Must {
				if !slices.Contains(e.Takes, o) {
					t.Errorf("needs %q, want one of the options that it takes, %v", o, e.Takes)
				}
			}
			if len(e.Must) == 0 {
				return
			}
			err := CheckEnvironment(envadapters.Options{Suite: e.Name})
			if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), e.Must[0]) {
				t.Errorf("CheckEnvironment without options = %v, want an invalid fault about %s", err, e.Must[0])
			}
		})
	}
}

func TestOptionsThatNoEnvironmentCouldUseAreRefused(t *testing.T) {
	server := func(address string) envadapters.Options {
		return envadapters.Options{Suite: "openenv", Servers: []string{address}}
	}
	mapped := func(m envadapters.Mapping) envadapters.Options {
		return envadapters.Options{Suite: "openenv", Servers: []string{"ws://h:1/ws"}, Mapping: m}
	}
	for _, c := range []struct {
		o    envadapters.Options
		want string
	}{
		{server("http://h:1/ws"), "servers: expected ws://host:port/ws"},
		{server("ws://h:99999/ws"), "servers: expected ws://host:port/ws"},
		{server("ws://:8000/ws"), "servers: expected ws://host:port/ws"},
		{server("ws://h h/ws"), "servers: expected ws://host:port/ws"},
		{server(""), "servers: expected ws://host:port/ws"},
		{mapped(envadapters.Mapping{Line: "("}), "mapping.line: expected a regular expression"},
		{mapped(envadapters.Mapping{Action: "{{"}), "mapping.action: expected a template"},
		{mapped(envadapters.Mapping{Reset: "{{nope}}"}), "mapping.reset: expected a template"},
		{mapped(envadapters.Mapping{Family: "tv"}), "mapping.family: expected mobile or web"},
		{mapped(envadapters.Mapping{Fields: map[string]string{"x": "y"}}), "mapping.fields: unknown"},
		{envadapters.Options{Suite: "androidworld", Servers: []string{"http://h"}}, "servers: expected ws://"},
		{envadapters.Options{Suite: "androidworld", Servers: []string{"ws://h"}, Spare: 1}, "spare: expected"},
		{
			envadapters.Options{Suite: "androidworld", Servers: []string{"ws://h"}, Without: []string{"x"}},
			"without: there is no task",
		},
		{envadapters.Options{Suite: "webtasks", Without: []string{"x"}}, "without: there is no template"},
		{envadapters.Options{Suite: "webtasks", Words: "x"}, "no words"},
		{envadapters.Options{Suite: "miniwob", Data: "/d", Semantics: "x"}, "no semantics"},
		{envadapters.Options{Suite: "mind2web", Data: "/d", Protocol: "x"}, "protocol: expected official or list"},
		{envadapters.Options{Suite: "mind2web", Data: "/d", Broken: "x"}, "broken: expected stop or skip"},
		{envadapters.Options{Suite: "autowebbench", Data: "/d", Broken: "x"}, "broken: expected stop or skip"},
	} {
		t.Run(c.o.Suite+" "+c.want, func(t *testing.T) {
			for _, o := range []envadapters.Options{c.o, part("p", c.o)} {
				err := CheckEnvironment(o)
				if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), c.want) {
					t.Errorf("CheckEnvironment(%+v) = %v, want an invalid fault: %s", o, err, c.want)
				}
			}
		})
	}
}

// part returns the options of a mixed suite of one part.
func part(name string, o envadapters.Options) envadapters.Options {
	return envadapters.Options{Suite: "mixed", Parts: map[string]envadapters.Options{name: o}}
}

func TestAMixedSuiteHasItsParts(t *testing.T) {
	s, err := OpenEnvironment(part("webtasks", envadapters.Options{Without: []string{"tap-link"}}), Places{1, 1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	templates, err := s.Templates("train")
	if err != nil || len(templates) == 0 || !strings.HasPrefix(templates[0].Name, "webtasks/") ||
		slices.ContainsFunc(templates, func(x envadapters.Template) bool { return x.Name == "webtasks/tap-link" }) {
		t.Errorf("Templates = %v, %v, want those of webtasks without tap-link", templates, err)
	}
}

func TestASuiteIsOpenedByItsOptions(t *testing.T) {
	const data = "../../envadapters/autowebbench/testdata"
	s, err := OpenEnvironment(envadapters.Options{Suite: "autowebbench", Data: data}, Places{})
	if err != nil {
		t.Fatal(err)
	}
	if s.Name() != "autowebbench" {
		t.Errorf("Name() = %q, want autowebbench", s.Name())
	}

	for name, o := range map[string]envadapters.Options{
		"an unknown suite":              {Suite: "nope"},
		"no suite":                      {},
		"an option that it cannot take": {Suite: "autowebbench", Data: "x", Servers: []string{"y"}},
		"a part of recorded tasks":      part("a", envadapters.Options{Suite: "autowebbench", Data: data}),
		"a mixed part":                  part("a", part("b", envadapters.Options{Suite: "webtasks"})),
		"a part without what it needs":  part("openenv", envadapters.Options{}),
		"a part with an odd name":       part("a/b", envadapters.Options{Suite: "webtasks"}),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := OpenEnvironment(o, Places{}); fault.KindOf(err) != fault.Invalid {
				t.Errorf("OpenEnvironment(%+v) = %v, want an invalid fault", o, err)
			}
		})
	}
}
