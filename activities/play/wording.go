package play

import (
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/method/synth"
)

// Wording is what the embedded policy can write and read. Language models use their own words.
type Wording struct {
	Render func(domain.Action) (string, error)   // the answer with an action
	Fits   func(prompt, answer string) (ok bool) // reports whether the policy can write an answer to a prompt
	Over   func(prompt string) int               // returns how much of a prompt is too much for the policy
}

// Target returns the policy that the data of stage 1 are made for.
func (w Wording) Target(specification spec.Spec) (synth.Target, error) {
	template, err := rules.Template(specification)
	target := synth.Target{
		Template: rules.Bound(specification, template, w.Over), Family: specification.Family(),
		Share: specification.FineTune.MessageShare, Agents: specification.Agents,
		Notes: specification.Summariser.Notes == spec.NotesPolicy,
	}
	if specification.Embedded() {
		target.Render = w.Render
		target.Fits = w.Fits
	}

	return target, err
}
