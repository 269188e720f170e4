package agents

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/prompts"
)

// Summarise returns the history's line for an executed action by fixed rules, within SmallLimits. The observation is
// the one on which the action was chosen. invalid is the reason why the action was not executed, or empty.
func Summarise(step int, action domain.Action, observation domain.Observation, invalid string) string {
	return SmallLimits.Summarise(step, action, observation, invalid)
}

// Summarise is Summarise within other limits.
func (l Limits) Summarise(step int, action domain.Action, observation domain.Observation, invalid string) string {
	l = l.OrSmall()

	return l.historyLine(step, l.describe(action, observation), invalid)
}

// describe describes an action on a screen, such as "click button Submit".
func (l Limits) describe(action domain.Action, observation domain.Observation) string {
	return l.phrase(action, observation, func(element domain.Element) string {
		return element.Role + " " + Line(element.Text, l.Element)
	})
}

// Reason describes an action on a screen by the name of its element, such as "click Submit 6 button".
func Reason(action domain.Action, observation domain.Observation) string {
	return SmallLimits.phrase(action, observation, func(element domain.Element) string {
		return SmallLimits.seen(element).Name()
	})
}

func (l Limits) phrase(action domain.Action, observation domain.Observation, name func(domain.Element) string) string {
	text := action.Type
	if element, ok := action.Named(observation); ok {
		text += " " + name(element)
	}
	for _, x := range action.Words() {
		text += " " + Line(x, l.Element)
	}

	return text
}

// historyLine returns the history's line of a step. If invalid is not empty, it appears in the line even where the rest
// is too long for prompts.
func (l Limits) historyLine(step int, what, invalid string) string {
	number := fmt.Sprintf("%d ", step)
	failed := ""
	if invalid != "" {
		failed = " failed: " + invalid
	}
	if utf8.RuneCountInString(number+what+failed) > l.Line && invalid != "" {
		failed = " failed: " + Line(invalid, l.Line/2)
		what = Line(what, max(0, l.Line-utf8.RuneCountInString(number+failed)-1))
	}

	return number + what + failed
}

// ExecutedStep describes an executed step to a summarising model.
type ExecutedStep struct {
	Step          int
	Goal          string
	Line          string // the line that Summarise returns
	Before, After domain.Observation
	// Pictures are those of Before and After, as far as agents see pictures.
	Pictures []chat.Image
	Invalid  string // the reason why the action was not executed, or empty
	Limits   Limits
	Notes    bool // whether the model also notes facts that later steps need
}

// summaryPictures describes the pictures of a summary.
const summaryPictures = "The pictures show the screen before the action and, if there is a second one, after it"

// ModelSummary has a chat model write the history's line of a step. If the action was not executed, the line contains
// the reason regardless of the model's answer. If the model's answer is empty or the prompt is refused, it returns the
// line of Summarise. If the model notes a fact that a later step may need, the text ends with it (see SplitNote). The
// call may be repeated.
func ModelSummary(
	ctx context.Context, model chat.Model, prompt *prompts.Prompt, step ExecutedStep, seed uint64,
) (string, error) {
	limits := step.Limits.OrSmall()
	data := struct {
		Goal, Done, Invalid string
		Screen, After       []string
		Notes               bool
	}{
		Notes:   step.Notes,
		Goal:    Line(step.Goal, limits.Goal),
		Done:    step.Line,
		Invalid: Line(step.Invalid, limits.Line),
		Screen:  limits.Lines(step.Before),
		After:   limits.Lines(step.After),
	}
	sys, user, err := prompt.Messages(data)
	if err != nil {
		return "", err
	}

	if len(step.Pictures) > 0 {
		user += "\n" + summaryPictures
	}

	response, err := model.Complete(ctx, chat.Request{
		System: sys, User: user, Images: step.Pictures, TopP: 1, Seed: seed, N: 1,
	})
	if fault.KindOf(err) == fault.Refused {
		return step.Line, nil
	}
	if err != nil {
		return "", err
	}
	text := response.Texts[0]
	note := ""
	if step.Notes {
		note = NoteOf(text)
		text, _, _ = strings.Cut(text, "\n"+noteMark)
	}
	summary := Line(text, limits.Line)
	if summary == "" {
		response.Read("it is empty")

		return step.Line, nil
	}
	response.Read("")

	line := limits.historyLine(step.Step, summary, step.Invalid)
	if note != "" {
		line = Line(line, len(line)) + lineOfNote + note
	}

	return line, nil
}
