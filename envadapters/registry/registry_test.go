package registry

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
)

func TestEveryAdapterTakesOptionsThatExistAndSaysHowToGetIt(t *testing.T) {
	var known []string
	for f := range reflect.TypeFor[envadapters.Options]().Fields() {
		known = append(known, f.Tag.Get("yaml"))
	}
	seen := map[string]bool{}
	for _, e := range All() {
		if e.About == "" || e.Get == "" || e.Open == nil || seen[e.Name] {
			t.Errorf("%+v", e)
		}
		seen[e.Name] = true
		for _, o := range e.Takes {
			if !slices.Contains(known, o) {
				t.Errorf("%s takes %q, which is no option", e.Name, o)
			}
		}
		for _, o := range e.Must {
			if !slices.Contains(e.Takes, o) {
				t.Errorf("%s must have %q, which it does not take", e.Name, o)
			}
		}
		if len(e.Must) > 0 {
			if err := Check(envadapters.Options{Suite: e.Name}); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), e.Must[0]) {
				t.Errorf("%s without options: %v", e.Name, err)
			}
		}
	}
}

func TestASuiteIsOpenedByItsOptions(t *testing.T) {
	s, err := Open(envadapters.Options{Suite: "autowebbench", Data: "../autowebbench/testdata"}, Places{})
	if err != nil || s.Name() != "autowebbench" {
		t.Fatal(s, err)
	}
	for _, o := range []envadapters.Options{{Suite: "nope"}, {}, {Suite: "autowebbench", Data: "x", Servers: []string{"y"}}} {
		if _, err := Open(o, Places{}); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
