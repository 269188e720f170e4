package verify

import (
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/records/runs"
)

func TestAPairOfAPassMustFollowFromItsEffect(t *testing.T) {
	cells := []domain.Cell{{Prompt: "p", Text: "pass"}, {Agent: 1, Prompt: "q", Text: "b"}}
	step := domain.Step{Number: 1, Decision: domain.Decision{Cells: cells}}
	parts := slotParts{steps: []runs.Step{{Step: step}}, credits: runs.Credits{Steps: []domain.Credit{{
		Step: 1, Labels: []domain.Label{domain.Negative, domain.Positive},
		Effects: []domain.Effect{{Instead: []domain.Alternative{
			{Text: "a", Label: domain.Positive}, {Text: "c", Label: domain.Negative},
		}}},
	}}}}
	const noHelp = "chosen is no alternative"
	const noCell = "rejected is not the agent's own cell"
	for name, c := range map[string]struct {
		prompt, chosen, rejected string
		source                   domain.Source
		want                     string
	}{
		"what helps":          {"p", "a", "pass", domain.SourceInstead, ""},
		"what does not":       {"p", "c", "pass", domain.SourceInstead, noHelp},
		"on another prompt":   {"q", "a", "pass", domain.SourceInstead, noHelp},
		"over another answer": {"p", "a", "b", domain.SourceInstead, noCell},
		"a peer's action":     {"p", "b", "pass", domain.SourceResist, ""},
		"what is labelled 0":  {"p", "pass", "pass", domain.SourceResist, "chosen is not a cell labelled 1"},
	} {
		t.Run(name, func(t *testing.T) {
			got := traces(domain.Example{
				Step: 1, Prompt: c.prompt, Chosen: c.chosen, Rejected: c.rejected, Source: c.source,
			}, parts, credit.Reading{})
			if !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
				t.Errorf("traces = %q, want %q", got, c.want)
			}
		})
	}
}

func TestASampleMustFollowFromTheLabelsOfItsStep(t *testing.T) {
	cells := []domain.Cell{{Prompt: "p", Text: "a"}, {Agent: 1, Prompt: "q", Text: "b"}}
	step := domain.Step{Number: 1, Decision: domain.Decision{Cells: cells}}
	credits := []domain.Credit{{Step: 1, Labels: []domain.Label{domain.Positive, domain.Negative}}}
	samples, _ := credit.Samples(credit.Rules{PerEpisode: 9}, credit.Episode{
		Slot: 1, Template: "t", Steps: []domain.Step{step}, Credits: credits,
	})
	if len(samples) != 2 {
		t.Fatalf("%d samples, want 2", len(samples))
	}

	for name, c := range map[string]struct {
		change func(*domain.Example)
		want   string
	}{
		"as it was made":    {func(*domain.Example) {}, ""},
		"another advantage": {func(p *domain.Example) { p.Advantage = -p.Advantage }, "with its advantage"},
		"another answer":    {func(p *domain.Example) { p.Chosen = "b" }, "with its advantage"},
		"another prompt":    {func(p *domain.Example) { p.Prompt = "q" }, "with its advantage"},
		"a rejected answer": {func(p *domain.Example) { p.Rejected = "b" }, "with its advantage"},
		"another round":     {func(p *domain.Example) { p.Round = 2 }, "no such cell"},
	} {
		t.Run(name, func(t *testing.T) {
			p := samples[0]
			c.change(&p)
			parts := slotParts{steps: []runs.Step{{Step: step}}, credits: runs.Credits{Steps: credits}}
			got := traces(p, parts, credit.Reading{})
			if !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
				t.Errorf("traces = %q, want %q", got, c.want)
			}
		})
	}
}
