package verify

import (
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/records/runs"
)

func TestASampleMustFollowFromTheLabelsOfItsStep(t *testing.T) {
	cells := []domain.Cell{{Prompt: "p", Text: "a"}, {Agent: 1, Prompt: "q", Text: "b"}}
	step := domain.Step{Number: 1, Decision: domain.Decision{Cells: cells}}
	credits := []domain.Credit{{Step: 1, Labels: []domain.Label{domain.Positive, domain.Negative}}}
	samples, _ := credit.Samples(credit.Rules{PerEpisode: 9}, 1, "t", []domain.Step{step}, credits)
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
