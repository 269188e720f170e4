package envadapters

import (
	"net/url"
	"slices"
	"strconv"
)

// IsServer reports whether a URL has one of some schemes, a host, and a port from 1 to 65535 or none.
func IsServer(u *url.URL, schemes ...string) bool {
	port, err := strconv.ParseUint(u.Port(), 10, 16)

	return slices.Contains(schemes, u.Scheme) && u.Hostname() != "" && (u.Port() == "" || err == nil && port > 0)
}

// Options configure a suite. Each adapter takes some of them. They are part of a run's specification, so they hold no
// secrets.
type Options struct {
	// Suite is the name of the adapter. By default it is the name of the options in the specification.
	Suite string `json:"suite,omitempty" yaml:"suite"`
	// Data is a folder or file that every host which plays episodes has.
	Data string `json:"data,omitempty" yaml:"data"`
	// Servers are addresses with the scheme ws or wss.
	Servers []string `json:"servers,omitempty" yaml:"servers"`
	// Semantics of miniwob are standard or mobile.
	Semantics string `json:"semantics,omitempty" yaml:"semantics"`
	// Words of webtasks are from-pools or made-up: put together for every training task. Other splits do not change.
	Words string `json:"words,omitempty" yaml:"words"`
	// Protocol of mind2web is official or list.
	Protocol string `json:"protocol,omitempty" yaml:"protocol"`
	// Broken says what to do about a record that cannot be read: skip or stop.
	Broken string `json:"broken,omitempty" yaml:"broken"`
	// Places is the number of concurrent episodes of one worker.
	Places int `json:"places,omitempty" yaml:"places"`
	// Spare is the number of servers that are kept in reserve.
	Spare int `json:"spare,omitempty" yaml:"spare"`
	// Without lists templates to leave out of all splits.
	Without []string `json:"without,omitempty" yaml:"without"`
	// MaxSteps is the budget of tasks for which the environment has none.
	MaxSteps int `json:"max_steps,omitempty" yaml:"max_steps"`
	// Inventory is the digest of the tasks and the version that a run was planned for; nothing else is played. Every
	// suite has it. It is empty where nobody asks.
	Inventory string `json:"inventory,omitempty" yaml:"inventory"`
	// Parts of mixed are the suites that it has, by name.
	Parts map[string]Options `json:"parts,omitempty" yaml:"parts"`
	// Mapping translates the messages of a foreign server.
	Mapping Mapping `json:"mapping,omitzero" yaml:"mapping"`
}

// Part returns the options of a part. One without a suite has the suite of its name.
func (o Options) Part(name string) Options {
	options := o.Parts[name]
	if options.Suite == "" {
		options.Suite = name
	}

	return options
}

// Mapping says where the messages of a foreign server hold the parts of an observation, and what its actions look like.
// Paths are dotted and start at the observation, such as "obs.goal" or "elements.0.text". An empty mapping means the
// profile collabui/1 (docs/openenv-profile.md).
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
	// Success is the lowest score that is a success, 1 by default.
	Success float64 `json:"success,omitempty" yaml:"success"`
	// Action is a template of the JSON of an action.
	Action string `json:"action,omitempty" yaml:"action"`
	// Reset is a template of the JSON of a reset.
	Reset string `json:"reset,omitempty" yaml:"reset"`
	// Tasks are the names of the tasks, for servers that do not list them.
	Tasks []string `json:"tasks,omitempty" yaml:"tasks"`
	// Family is mobile or web.
	Family string `json:"family,omitempty" yaml:"family"`
}
