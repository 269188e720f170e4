// Package registry knows every adapter of this build by its name: what it is, what it needs, and how to open it. It only wires. Adapters of one's own stand in files beside
// this one (`collabui envs new NAME` writes one).
package registry

import (
	"reflect"
	"slices"
	"strings"

	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/androidworld"
	"github.com/collabui/collabui/envadapters/autowebbench"
	"github.com/collabui/collabui/envadapters/mind2web"
	"github.com/collabui/collabui/envadapters/miniwob"
	"github.com/collabui/collabui/envadapters/openenv"
	"github.com/collabui/collabui/envadapters/webtasks"
	"github.com/collabui/collabui/fault"
)

// Places are what browser environments may use on this host.
type Places struct {
	Browsers int
	Tabs     int // episodes at once per browser
}

// Entry is one adapter.
type Entry struct {
	Name     string   // as specifications name it
	About    string   // what it is, in a sentence
	Takes    []string // the options that it takes, by their names in specifications
	Must     []string // those of them that it cannot do without
	Get      string   // how to get what it needs
	Recorded bool     // recorded tasks, teacher-forced
	Open     func(envadapters.Options, Places) (envadapters.Suite, error)
}

// own are the adapters that stand in files of their own.
var own []Entry

// All lists the adapters: the built-in one first, the others as METHOD.md has them, one's own last.
func All() []Entry {
	return append([]Entry{
		{Name: "webtasks", About: "built-in pages, apps and widgets, in real Chromium", Get: "apt-get install chromium-headless-shell",
			Open: func(_ envadapters.Options, p Places) (envadapters.Suite, error) {
				return webtasks.New(p.Browsers, p.Tabs)
			}},
		{Name: "androidworld", About: "Android apps on emulators, each behind a companion (deploy/androidworld)", Takes: []string{"servers", "spare", "without"}, Must: []string{"servers"},
			Get:  "build and start a companion per emulator (deploy/androidworld/README.md) and name their addresses, such as ws://127.0.0.1:8001/ws, under servers",
			Open: func(o envadapters.Options, _ Places) (envadapters.Suite, error) { return androidworld.New(o) }},
		{Name: "mind2web", About: "recorded tasks on websites, with candidates for every step", Takes: []string{"data", "protocol", "broken"}, Must: []string{"data"}, Recorded: true,
			Get:  "download the data set osunlp/Mind2Web, unpack its tests (unzip -P mind2web test.zip), and name the folder as data",
			Open: func(o envadapters.Options, _ Places) (envadapters.Suite, error) { return mind2web.New(o) }},
		{Name: "autowebbench", About: "recorded steps on web pages in English and Chinese", Takes: []string{"data", "broken"}, Must: []string{"data"}, Recorded: true,
			Get:  "download autowebbench of THUDM/AutoWebGLM and name its folder, or one test.json, as data",
			Open: func(o envadapters.Options, _ Places) (envadapters.Suite, error) { return autowebbench.New(o) }},
		{Name: "miniwob", About: "the official MiniWoB++ pages in real Chromium; with semantics: mobile, played as on a phone", Takes: []string{"data", "semantics"}, Must: []string{"data"},
			Get: "pip download miniwob==1.1.0 --no-deps -d /tmp && unzip -q /tmp/miniwob-1.1.0-*.whl -d DIR, and name DIR as data",
			Open: func(o envadapters.Options, p Places) (envadapters.Suite, error) {
				return miniwob.New(o, p.Browsers, p.Tabs)
			}},
		{Name: "openenv", About: "any environment that speaks the OpenEnv protocol over a network", Takes: []string{"servers", "places", "max_steps", "mapping"}, Must: []string{"servers"},
			Get:  "start a server (collabui envs serve webtasks is one) and name its address, such as ws://127.0.0.1:8000/ws, under servers",
			Open: func(o envadapters.Options, _ Places) (envadapters.Suite, error) { return openenv.New(o) }},
	}, own...)
}

// Names of the adapters.
func Names() []string {
	var out []string
	for _, e := range All() {
		out = append(out, e.Name)
	}
	return out
}

// Find gives an adapter by its name.
func Find(name string) (Entry, bool) {
	for _, e := range All() {
		if e.Name == name {
			return e, true
		}
	}
	return Entry{}, false
}

// Check says what is wrong with a suite's options, whatever this host holds.
func Check(o envadapters.Options) error {
	e, ok := Find(o.Suite)
	if !ok {
		return fault.New(fault.Invalid, "suite: one of %s, not %q", strings.Join(Names(), ", "), o.Suite)
	}
	v := reflect.ValueOf(o)
	for i := range v.NumField() {
		name := v.Type().Field(i).Tag.Get("yaml")
		switch given := !v.Field(i).IsZero(); {
		case name == "suite":
		case given && !slices.Contains(e.Takes, name):
			return fault.New(fault.Invalid, "%s: %s takes no such option; it takes %s", name, e.Name, strings.Join(append(slices.Clone(e.Takes), "suite"), ", "))
		case !given && slices.Contains(e.Must, name):
			return fault.New(fault.Invalid, "%s: %s needs it: %s", name, e.Name, e.Get)
		}
	}
	return nil
}

// Open opens the suite that the options name. The caller closes it.
func Open(o envadapters.Options, p Places) (envadapters.Suite, error) {
	if err := Check(o); err != nil {
		return nil, err
	}
	e, _ := Find(o.Suite)
	return e.Open(o, p)
}
