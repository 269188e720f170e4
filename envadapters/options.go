package envadapters

import (
	"net/url"
	"slices"
	"strconv"
)

// IsServer reports whether a URL has one of the schemes, a host, and either no port or one from 1 to 65535.
func IsServer(u *url.URL, schemes ...string) bool {
	port, err := strconv.ParseUint(u.Port(), 10, 16)

	return slices.Contains(schemes, u.Scheme) && u.Hostname() != "" && (u.Port() == "" || err == nil && port > 0)
}

// Options configure a suite. Each adapter reads some of them. They are part of a run's specification, so they hold no
// secrets.
type Options struct {
	// Suite is the name of the adapter. By default it is the name of the options in the specification.
	Suite string `json:"suite,omitempty" yaml:"suite"`
	// Data is a folder or file that exists on every host that plays episodes.
	Data string `json:"data,omitempty" yaml:"data"`
	// Servers are addresses with the scheme ws or wss.
	Servers []string `json:"servers,omitempty" yaml:"servers"`
	// Semantics is standard or mobile, for miniwob.
	Semantics string `json:"semantics,omitempty" yaml:"semantics"`
	// Words is from-pools or made-up, for webtasks. With made-up, every training task gets words of its own; other
	// splits do not change.
	Words string `json:"words,omitempty" yaml:"words"`
	// Groups names the groups of templates that webtasks plays: apps and widgets if empty; two-places is the third.
	Groups []string `json:"groups,omitempty" yaml:"groups"`
	// Protocol is official or list, for mind2web.
	Protocol string `json:"protocol,omitempty" yaml:"protocol"`
	// Broken is skip or stop: what to do about a record that cannot be read.
	Broken string `json:"broken,omitempty" yaml:"broken"`
	// Places is the number of concurrent episodes per worker.
	Places int `json:"places,omitempty" yaml:"places"`
	// Spare is the number of servers that are kept in reserve.
	Spare int `json:"spare,omitempty" yaml:"spare"`
	// Without lists templates to leave out of all splits.
	Without []string `json:"without,omitempty" yaml:"without"`
	// MaxSteps is the step budget of tasks for which the environment specifies no budget.
	MaxSteps int `json:"max_steps,omitempty" yaml:"max_steps"`
	// Inventory is the digest of the tasks and the version that a run was planned for; no other tasks are played. Every
	// suite supports it. If empty, nothing is compared.
	Inventory string `json:"inventory,omitempty" yaml:"inventory"`
	// Parts are the suites that mixed combines, by name.
	Parts map[string]Options `json:"parts,omitempty" yaml:"parts"`
	// Mapping translates the messages of a foreign server.
	Mapping Mapping `json:"mapping,omitzero" yaml:"mapping"`
}

// Part returns the options of a part. If they name no suite, the part's name is the name of its suite.
func (o Options) Part(name string) Options {
	options := o.Parts[name]
	if options.Suite == "" {
		options.Suite = name
	}

	return options
}

// Mapping describes where the messages of a foreign server hold the parts of an observation, and the form of the
// actions that it accepts. Paths are dotted and start at the observation, such as "obs.goal" or "elements.0.text". An
// empty mapping means the profile collabui/1 (docs/openenv-profile.md).
type Mapping struct {
	// Goal is the path of the goal.
	Goal string `json:"goal,omitempty" yaml:"goal"`
	// Text is the path of a text whose lines become elements.
	Text string `json:"text,omitempty" yaml:"text"`
	// Line is a regular expression for a line of Text, with groups named id, role, text and value.
	Line string `json:"line,omitempty" yaml:"line"`
	// Elements is the path of a list of objects.
	Elements string `json:"elements,omitempty" yaml:"elements"`
	// Fields maps id, role, text, desc, value and editable to keys of the objects in Elements.
	Fields map[string]string `json:"fields,omitempty" yaml:"fields"`
	// Score is the path of the score. By default the score is the last reward.
	Score string `json:"score,omitempty" yaml:"score"`
	// Success is the lowest score that counts as a success, 1 by default.
	Success float64 `json:"success,omitempty" yaml:"success"`
	// Action is a template of the JSON of an action.
	Action string `json:"action,omitempty" yaml:"action"`
	// Reset is a template of the JSON of a reset.
	Reset string `json:"reset,omitempty" yaml:"reset"`
	// Tasks are the names of the tasks. They are needed if the server does not list them.
	Tasks []string `json:"tasks,omitempty" yaml:"tasks"`
	// Family is mobile or web.
	Family string `json:"family,omitempty" yaml:"family"`
}
