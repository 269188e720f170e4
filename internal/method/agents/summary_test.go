package agents

import (
	"context"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/prompts"
)

// storyteller gives the same summary for every step.
type storyteller string

func (s storyteller) Complete(context.Context, chat.Request) (chat.Response, error) {
	return chat.Response{Texts: []string{string(s)}}, nil
}

func TestAModelNotesAFactInASecondLine(t *testing.T) {
	p, err := prompts.BuiltIn(prompts.Summariser)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		said, want string
		notes      bool
	}{
		"a note":             {"opened the safe\nNote: Ann has 4711", "3 opened the safe\nNote: Ann has 4711", true},
		"no note":            {"opened the safe", "3 opened the safe", true},
		"notes are not kept": {"opened the safe\nNote: b", "3 opened the safe Note: b", false},
	} {
		t.Run(name, func(t *testing.T) {
			step := ExecutedStep{Step: 3, Line: "3 click", Notes: c.notes}
			if got, err := ModelSummary(t.Context(), storyteller(c.said), p, step, 1); got != c.want || err != nil {
				t.Errorf("ModelSummary = %q, %v; want %q", got, err, c.want)
			}
			system, _, err := p.Messages(struct {
				Goal, Done, Invalid string
				Screen, After       []string
				Notes               bool
			}{Notes: c.notes})
			if strings.Contains(system, `"Note:"`) != c.notes || err != nil {
				t.Errorf("the system prompt is %q, %v; want a word on notes: %v", system, err, c.notes)
			}
		})
	}
}

// TestNoSummaryHidesThatNothingWasExecuted checks the line as prompts show it.
func TestNoSummaryHidesThatNothingWasExecuted(t *testing.T) {
	text, err := prompts.Default(prompts.Summariser)
	if err != nil {
		t.Fatal(err)
	}
	p, err := prompts.Parse(text)
	if err != nil {
		t.Fatal(err)
	}

	long := strings.Repeat("word ", 100)
	typed := domain.Action{Type: domain.ActionInputText, Text: long}.At(0)
	o := domain.Observation{Elements: []domain.Element{{Index: 0, Role: "field", Text: long, Visible: true}}}
	for name, c := range map[string]struct{ said, invalid, want string }{
		"a short story":   {"opened the mail", "", "3 opened the mail"},
		"it failed":       {"opened the mail", "the field is covered", "the mail failed: the field is covered"},
		"a long story":    {long, "the field is covered", "… failed: the field is covered"},
		"a long reason":   {"opened the mail", long, "3 opened the mail failed: word word"},
		"everything long": {long, long, "… failed: word word"},
	} {
		t.Run(name, func(t *testing.T) {
			h := ExecutedStep{Step: 3, Line: Summarise(3, typed, o, c.invalid), Before: o, Invalid: c.invalid}
			got, err := ModelSummary(t.Context(), storyteller(c.said), p, h, 1)
			if err != nil {
				t.Fatal(err)
			}
			if got = Line(got, SmallLimits.Line); !strings.Contains(got, c.want) {
				t.Errorf("the model's line is %q, want %q in it", got, c.want)
			}

			fixed := Line(h.Line, SmallLimits.Line)
			if got, want := strings.Contains(fixed, " failed: "), c.invalid != ""; got != want {
				t.Errorf("the template's line %q says that it failed: %v, want %v", fixed, got, want)
			}
		})
	}
}
