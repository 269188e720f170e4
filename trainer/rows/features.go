package rows

// Feature is a column of a file, in the form in which the package datasets reads it from a data set's card.
type Feature struct {
	Name   string    `yaml:"name"`
	Type   string    `yaml:"dtype,omitempty"`
	List   any       `yaml:"list,omitempty"` // a type, or the features of an element
	Struct []Feature `yaml:"struct,omitempty"`

	About string `yaml:"-"` // what it holds, for people
}

// messageFeatures are the features of a Message.
var messageFeatures = []Feature{{Name: "role", Type: "string"}, {Name: "content", Type: "string"}}

// metaFeatures are the features of Meta.
var metaFeatures = []Feature{
	{Name: "agent", Type: "int64"},
	{Name: "slot", Type: "int64"},
	{Name: "source", Type: "string"},
	{Name: "step", Type: "int64"},
	{Name: "template", Type: "string"},
	{Name: "weight", Type: "float64"},
}

var metaFeature = Feature{
	Name: "meta", Struct: metaFeatures, About: "agent, episode (slot) and step of the prompt, template of the task, " +
		"where the wrong answer is from (source), and the row's weight in the loss",
}

// Features returns the columns of one of the set's files. They are the same in all of its rows: what a row leaves out
// is null.
func (s Set) Features(file File) []Feature {
	text := func(name, about string) Feature { return Feature{Name: name, Type: "string", About: about} }
	message := func(name, about string) Feature { return Feature{Name: name, Struct: messageFeatures, About: about} }
	messages := func(name, about string) Feature { return Feature{Name: name, List: messageFeatures, About: about} }
	const (
		right = "the answer that is demonstrated, or labelled right"
		wrong = "a wrong answer to the same prompt; null if there is none"
		both  = "the prompt and, in files for SFT, the answer"
	)

	var out []Feature
	if s.images() {
		out = append(out, Feature{
			Name: "images", List: "string", About: "screenshots of the screen, as paths below this folder",
		})
	}
	switch {
	case file.Format == Preference && s.samples():
		return append(out,
			Feature{Name: "advantage", Type: "float64", About: "the answer's label against those of all answers of " +
				"its step, in standard deviations: GRPO makes answers with one above 0 more probable"},
			messages("prompt", "the system message and what the agent was shown"),
			messages("completion", "the answer of the agent"),
			metaFeature)
	case file.Format == Preference:
		return append(out,
			messages("prompt", "the system message and what the agent was shown"),
			messages("chosen", right),
			messages("rejected", wrong),
			metaFeature)
	case file.Format == ShareGPT && file.Ranking:
		return append(out, messages("messages", both), message("chosen", right), message("rejected", wrong))
	case file.Format == ShareGPT:
		return append(out, messages("messages", both))
	}

	out = append(out, text("system", "the system message"), text("instruction", "what the agent was shown"),
		text("input", "always empty"))
	if file.Ranking {
		return append(out, text("chosen", right), text("rejected", wrong))
	}

	return append(out, text("output", right))
}
