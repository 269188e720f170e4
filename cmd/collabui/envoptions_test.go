package main

import (
	"reflect"
	"strings"
	"testing"

	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/spec"
)

func TestSettingsChangeTheOptionsOfAnEnvironment(t *testing.T) {
	for _, c := range []struct {
		name        string
		environment string
		set         []string
		want        envadapters.Options
	}{
		{
			"text", "miniwob",
			[]string{"environments.miniwob.data=DIR=1", "environments.miniwob.semantics=mobile"},
			envadapters.Options{Suite: "miniwob", Data: "DIR=1", Semantics: "mobile"},
		},
		{
			"list", "androidworld",
			[]string{"environments.androidworld.servers=ws://a,ws://b", "environments.androidworld.spare=1"},
			envadapters.Options{Suite: "androidworld", Servers: []string{"ws://a", "ws://b"}, Spare: 1},
		},
		{
			"mapping of an address", "ws://a",
			[]string{"environments.openenv.mapping.fields.id=ref", "environments.openenv.mapping.success=0.5"},
			envadapters.Options{
				Suite: "openenv", Servers: []string{"ws://a"},
				Mapping: envadapters.Mapping{Fields: map[string]string{"id": "ref"}, Success: 0.5},
			},
		},
		{
			"another environment", "miniwob", []string{"environments.mind2web.data=DIR"},
			envadapters.Options{Suite: "miniwob"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := envOptions{set: c.set}
			got, err := o.resolve(c.environment)
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("resolve(%s) with %v = %+v, %v; want %+v", c.environment, c.set, got, err, c.want)
			}
		})
	}
}

func TestSettingsApplyToTheEnvironmentOfARun(t *testing.T) {
	s := spec.Default()
	s.Environments = map[string]envadapters.Options{"phone": {Suite: "miniwob", Data: "DIR"}}
	o := envOptions{set: []string{"environments.phone.semantics=mobile"}}

	want := envadapters.Options{Suite: "miniwob", Data: "DIR", Semantics: "mobile"}
	if got, err := o.options("phone", s); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("options = %+v, %v; want %+v", got, err, want)
	}
	if got := s.Environments["phone"].Semantics; got != "" {
		t.Errorf("the specification has semantics %q, want it unchanged", got)
	}
}

func TestImpossibleSettingsAreRefused(t *testing.T) {
	for set, want := range map[string]string{
		"environments.miniwob.sematics=mobile":         "unknown option; known are data, semantics",
		"environments.webtasks.data=DIR":               "unknown option; known are without",
		"environments.openenv.mapping.gaol=x":          "unknown option; known are goal",
		"environments.openenv.mapping=x":               "not the key of a single option",
		"environments.openenv.places=many":             `expected a whole number, not "many"`,
		"environments.openenv.mapping.success=perhaps": `expected a number, not "perhaps"`,
		"environments.miniwob.data":                    "expected environments.NAME.OPTION=VALUE",
		"miniwob.data=DIR":                             "expected environments.NAME.OPTION=VALUE",
	} {
		o := envOptions{set: []string{set}}
		name := "miniwob"
		for _, other := range []string{"webtasks", "openenv"} {
			if strings.Contains(set, other) {
				name = other
			}
		}
		_, err := o.resolve(name)
		if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("--set %s: %v, want an invalid fault with %q", set, err, want)
		}
	}

	o := envOptions{set: []string{"environments.miniwob.data=DIR"}}
	wantInvalid(t, o.only("webtasks"), "this command uses webtasks, not miniwob")
	if err := o.only("webtasks", "miniwob"); err != nil {
		t.Errorf("only(webtasks, miniwob) = %v, want no error", err)
	}
}
