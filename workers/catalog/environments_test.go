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
