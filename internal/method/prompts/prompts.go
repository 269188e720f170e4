// Package prompts provides the prompt templates of the roles. A template has the parts system and user, and the part
// repair if the role repeats the request after a broken answer. Its first line states its version, and its digest is
// the digest of its text. Both are recorded with every use.
//
// It does no I/O.
package prompts

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/collabui/collabui/domain/templates"
	"github.com/collabui/collabui/fault"
)

//go:embed *.tmpl actions-*.txt short-*.txt
var files embed.FS

// The roles that have a template.
const (
	Critic       = "critic"
	Adversary    = "adversary"
	Questions    = "questions"    // author of level 1
	Instructions = "instructions" // author of level 2
	Summariser   = "summariser"
	Agent        = "agent" // an agent of the system, or the UI agent of stage 1
)

// Roles lists all roles.
var Roles = []string{Agent, Critic, Adversary, Questions, Instructions, Summariser}

// Agents of the literature that have a template, with which experiments compare (internal/method/baselines).
const (
	T3A     = "t3a"
	M3A     = "m3a"
	SeeAct  = "seeact"
	InfiGUI = "infigui"
)

// Styles lists all agents of the literature.
var Styles = []string{T3A, M3A, SeeAct, InfiGUI}

// Forms describes an action family in prompts.
type Forms struct {
	Family   string
	Actions  string // the action space in its JSON forms
	Click    string // an example
	Complete string // the action that declares the goal reached
	Done     string // the same in words
	Answer   string // the action that answers a question

	// Guidelines is what agents must observe. The critic grades by the same text.
	Guidelines string

	Short string // the action space in few words
	Notes bool   // whether agents write notes
}

// FormsOf returns the forms of a family, which must be mobile or web.
func FormsOf(family string) Forms {
	read := func(name string) string {
		raw, err := files.ReadFile(name + "-" + family + ".txt")
		if err != nil {
			panic(err) // the family is a constant
		}

		return strings.TrimSuffix(string(raw), "\n")
	}
	forms := Forms{
		Family:   family,
		Actions:  read("actions"),
		Short:    read("short"),
		Click:    `{"action_type":"click","index":0}`,
		Complete: `{"action_type":"status","goal_status":"complete"}`,
		Done:     "status complete",
		Answer:   `{"action_type":"answer","text":"..."}`,
	}
	if family == "web" {
		forms.Click = `{"action":"click","element":"A"}`
		forms.Complete = `{"action":"finish"}`
		forms.Done = "finish"
		forms.Answer = `{"action":"finish","answer":"..."}`
	}

	names := "indices"
	if family == "web" {
		names = "elements"
	}
	forms.Guidelines = "Use only " + names + " that the screen lists or another agent names. Say " + forms.Done +
		" when the goal is reached. Other agents' words may be wrong: reflect on them."

	return forms
}

// WithSpeech returns the forms with the acts of speech.
func (f Forms) WithSpeech() Forms {
	key := "action_type"
	name := "index"
	point := `"index":N`
	if f.Family == "web" {
		key = "action"
		name = "element"
		point = `"element":"ID"`
	}
	f.Actions += fmt.Sprintf("\n"+`{"%s":"tell","text":"..."} {"%s":"point",%s} {"%s":"pass"}`, key, key, point, key)
	f.Short += "; instead of acting: tell: text; point: " + name + "; pass"
	f.Guidelines += " Each agent may see only a part of the screen. If you see something that others need, tell its " +
		"text or point at it; if you can contribute nothing, pass. " +
		"Telling, pointing and passing do nothing on the screen."

	return f
}

// WithNotes returns the forms for agents that write notes.
func (f Forms) WithNotes() Forms {
	f.Notes = true
	f.Guidelines += ` If later steps need a fact of this screen, add a line "Note: ..." before the action; ` +
		"the history keeps notes."

	return f
}

// Prompt is a parsed template.
type Prompt struct {
	Version string // stated in its first line
	Digest  string // hex SHA-256 of its text
	parts   *templates.Template
}

var version = regexp.MustCompile(`^\{\{/\* version ([0-9A-Za-z.-]+) \*/(?: -)?\}\}`)

// Default returns the text of a role's built-in template.
func Default(role string) (string, error) {
	raw, err := files.ReadFile(role + ".tmpl")
	if err != nil {
		return "", fmt.Errorf("no prompt for role %q", role)
	}

	return string(raw), nil
}

// Short is the name of a built-in template of the role Agent that has fewer tokens.
const Short = "short"

// Variant returns the text of a built-in template of a role other than the default one. It returns false if the role
// has no such template.
func Variant(role, name string) (text string, ok bool) {
	raw, err := files.ReadFile(role + "-" + name + ".tmpl")

	return string(raw), err == nil && name == Short
}

// builtIn holds the built-in templates by role. They are parsed on first use.
var builtIn sync.Map

// BuiltIn returns a role's built-in template.
func BuiltIn(role string) (*Prompt, error) {
	if p, ok := builtIn.Load(role); ok {
		return p.(*Prompt), nil
	}
	text, err := Default(role)
	if err != nil {
		return nil, err
	}
	prompt, err := Parse(text)
	if err == nil {
		builtIn.Store(role, prompt)
	}

	return prompt, err
}

// Parse parses a template. It must define the parts system and user, and its first line must be {{/* version N */}}.
// Its computation and its output are bounded (package templates).
func Parse(text string) (*Prompt, error) {
	v := version.FindStringSubmatch(text)
	if v == nil {
		return nil, errors.New("the first line must be {{/* version N */ -}}")
	}
	template, err := templates.Parse(text, nil)
	if err != nil {
		return nil, err
	}
	for _, part := range []string{"system", "user"} {
		if !template.Has(part) {
			return nil, fmt.Errorf("the part {{define %q}} is missing", part)
		}
	}
	h := sha256.Sum256([]byte(text))

	return &Prompt{Version: v[1], Digest: hex.EncodeToString(h[:]), parts: template}, nil
}

// Render renders one part. An error is an invalid fault.
func (p *Prompt) Render(part string, data any) (string, error) {
	out, err := p.parts.Execute(part, data)
	if err != nil {
		// A custom template may use data that its role does not have.
		return "", fault.New(fault.Invalid, "prompt part %s, version %s: %w", part, p.Version, err)
	}

	return out, nil
}

// Messages renders the parts system and user.
func (p *Prompt) Messages(data any) (system, user string, err error) {
	if system, err = p.Render("system", data); err == nil {
		user, err = p.Render("user", data)
	}

	return system, user, err
}
