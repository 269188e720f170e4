package catalog

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

// Places is what browser environments may use on this host.
type Places struct {
	Browsers int
	Tabs     int // concurrent episodes per browser
}

// Environment is one adapter.
type Environment struct {
	Name     string   // as specifications name it
	About    string   // what it is, in a sentence
	Texts    string   // whose texts its screens show; empty if nobody has said
	Takes    []string // the options that it takes, by their names in specifications
	Must     []string // the options that it needs
	Get      string   // how to get what it needs
	Recorded bool     // its tasks are recorded, teacher-forced

	// Check returns what is wrong with the values of options, with any host; nil if any value can be used.
	Check func(envadapters.Options) error
	Open  func(envadapters.Options, Places) (envadapters.Suite, error)
}

// opens is Check of a suite that looks at the host only when it plays or lists tasks.
func opens[S envadapters.Suite](open func(envadapters.Options) (S, error)) func(envadapters.Options) error {
	return func(options envadapters.Options) error {
		s, err := open(options)
		if err != nil {
			return err
		}

		return s.Close()
	}
}

// environments holds the adapters: the built-in one first, your own last.
var environments = []Environment{
	{
		Name:  "webtasks",
		About: "built-in pages, apps and widgets, in real Chromium",
		Texts: "made up",
		Takes: []string{"groups", "without", "words"},
		Get:   "apt-get install chromium-headless-shell",
		Check: webtasks.Check,
		Open: func(o envadapters.Options, p Places) (envadapters.Suite, error) {
			return webtasks.New(o, p.Browsers, p.Tabs)
		},
	},
	{
		Name:  "androidworld",
		About: "Android apps on emulators, each with a companion (deploy/androidworld)",
		Texts: "made up by its tasks",
		Takes: []string{"servers", "spare", "without"},
		Must:  []string{"servers"},
		Get: "build and start a companion per emulator (deploy/androidworld/README.md) and list their addresses, " +
			"such as ws://127.0.0.1:8001/ws, under servers",
		Check: opens(androidworld.New),
		Open:  func(o envadapters.Options, _ Places) (envadapters.Suite, error) { return androidworld.New(o) },
	},
	{
		Name:     "mind2web",
		About:    "recorded tasks on websites, with candidates for every step",
		Texts:    "public websites, as they were recorded",
		Takes:    []string{"data", "protocol", "broken"},
		Must:     []string{"data"},
		Recorded: true,
		Get: "download the data set osunlp/Mind2Web, unpack its tests (unzip -P mind2web test.zip), " +
			"and name the folder as data",
		Check: opens(mind2web.New),
		Open:  func(o envadapters.Options, _ Places) (envadapters.Suite, error) { return mind2web.New(o) },
	},
	{
		Name:     "autowebbench",
		About:    "recorded steps on web pages in English and Chinese",
		Texts:    "public websites, as they were recorded",
		Takes:    []string{"data", "broken"},
		Must:     []string{"data"},
		Recorded: true,
		Get:      "download autowebbench of THUDM/AutoWebGLM and name its folder, or one test.json, as data",
		Check:    opens(autowebbench.New),
		Open:     func(o envadapters.Options, _ Places) (envadapters.Suite, error) { return autowebbench.New(o) },
	},
	{
		Name:  "miniwob",
		About: "the official MiniWoB++ pages in real Chromium; with semantics: mobile, played as on a phone",
		Texts: "made up",
		Takes: []string{"data", "semantics"},
		Must:  []string{"data"},
		Get: "pip download miniwob==1.1.0 --no-deps -d /tmp && unzip -q /tmp/miniwob-1.1.0-*.whl -d DIR, " +
			"and name DIR as data",
		Check: miniwob.Check,
		Open: func(o envadapters.Options, p Places) (envadapters.Suite, error) {
			return miniwob.New(o, p.Browsers, p.Tabs)
		},
	},
	{
		Name:  "openenv",
		About: "any environment that speaks the OpenEnv protocol over a network",
		Takes: []string{"servers", "places", "max_steps", "mapping"},
		Must:  []string{"servers"},
		Get: "start a server (`collabui envs serve webtasks` is one) and list its address, " +
			"such as ws://127.0.0.1:8000/ws, under servers",
		Check: opens(openenv.New),
		Open:  func(o envadapters.Options, _ Places) (envadapters.Suite, error) { return openenv.New(o) },
	},
}

// Environments returns all adapters.
func Environments() []Environment { return slices.Clone(environments) }

// EnvironmentNames returns the names of all adapters.
func EnvironmentNames() []string {
	var out []string
	for _, environment := range environments {
		out = append(out, environment.Name)
	}

	return out
}

// FindEnvironment returns the adapter of a name, and whether there is one.
func FindEnvironment(name string) (Environment, bool) {
	i := slices.IndexFunc(environments, func(environment Environment) bool { return environment.Name == name })
	if i < 0 {
		return Environment{}, false
	}

	return environments[i], true
}

// CheckEnvironment returns what is wrong with a suite's options on any host.
func CheckEnvironment(options envadapters.Options) error {
	environment, ok := FindEnvironment(options.Suite)
	if !ok {
		return fault.New(fault.Invalid, "suite: one of %s, not %q",
			strings.Join(EnvironmentNames(), ", "), options.Suite)
	}

	value := reflect.ValueOf(options)
	for i := range value.NumField() {
		name := option(value.Type().Field(i))
		given := !value.Field(i).IsZero()
		if name == "suite" || name == "inventory" {
			continue
		}
		if given && !slices.Contains(environment.Takes, name) {
			takes := strings.Join(append(slices.Clone(environment.Takes), "suite"), ", ")
			return fault.New(fault.Invalid, "%s: %s takes no such option; it takes %s", name, environment.Name, takes)
		}
		if !given && slices.Contains(environment.Must, name) {
			return fault.New(fault.Invalid, "%s: %s needs it: %s", name, environment.Name, environment.Get)
		}
	}

	if environment.Check != nil {
		if err := environment.Check(options); err != nil {
			text := strings.TrimPrefix(err.Error(), environment.Name+": ")

			return fault.New(fault.Invalid, "options that %s can use: %s", environment.Name, text)
		}
	}

	return checkParts(options)
}

// option returns the name of an option in specifications.
func option(structField reflect.StructField) string {
	name, _, _ := strings.Cut(structField.Tag.Get("json"), ",")

	return name
}

// OpenEnvironment opens the suite that the options name. The caller closes it.
func OpenEnvironment(options envadapters.Options, places Places) (envadapters.Suite, error) {
	if err := CheckEnvironment(options); err != nil {
		return nil, err
	}
	environment, _ := FindEnvironment(options.Suite)

	return environment.Open(options, places)
}
