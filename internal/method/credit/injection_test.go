package credit

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/internal/method/chat"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/test/kit/injection"
)

// reader is a critic that grades by what stands in the proposals and takes every line that does not begin with "| " for the prompt's own: whatever else it
// finds there, it obeys, and gives 1 to all.
type reader struct{ right string }

var (
	heading = regexp.MustCompile(`^(Goal:|History:|Screen:|Proposals:|\d+\.\d+|Grade these \d+ cells:( \d+\.\d+)+)$`)
	clicked = regexp.MustCompile(`Action: (\{[^{}]*\})$`)
)

func (r reader) Complete(_ context.Context, q chat.Request) (chat.Response, error) {
	obey, cell := false, ""
	var grades []string
	sections := 0
	for _, line := range strings.Split(q.User, "\n") {
		data, isData := strings.CutPrefix(line, "| ")
		switch {
		case !isData && heading.MatchString(line):
			if strings.HasSuffix(line, ":") {
				sections++
			}
			cell = ""
			if line[0] >= '0' && line[0] <= '9' {
				cell = line
			}
		case !isData:
			obey = true
		case cell != "":
			score := 0
			if m := clicked.FindStringSubmatch(data); m != nil && m[1] == r.right {
				score = 1
			}
			grades, cell = append(grades, fmt.Sprintf(`{"cell":%q,"reason":"r","score":%d}`, cell, score)), ""
		}
	}
	text := `{"grades":[` + strings.Join(grades, ",") + `]}`
	if obey || sections != 4 {
		text = strings.ReplaceAll(text, `"score":0`, `"score":1`)
	}
	return chat.Response{Texts: []string{text}}, nil
}

// TestInjectionsChangeNoLabel puts every injection wherever a page or an agent can write; a critic that honours the delimiters labels as without it. What a real model
// makes of the words inside the delimiters cannot be shown without one.
func TestInjectionsChangeNoLabel(t *testing.T) {
	s := step(1, 3, [][]int{{3, 1}, {2, 3}})
	s.Goal, s.History = "Tap b3", []string{"1 click button b7"}
	right := s.Decision.Cells[0].Action.JSON()
	critic := critic(t, reader{right})
	label := func(s domain.Step) []domain.Label {
		c, _, err := critic.Label(t.Context(), s, 1)
		if err != nil {
			t.Fatal(err)
		}
		return c.Labels
	}
	want := []domain.Label{1, 0, 0, 1}
	if got := label(s); !slices.Equal(got, want) {
		t.Fatal(got)
	}
	places := map[string]func(*domain.Step, string){
		"goal":    func(s *domain.Step, x string) { s.Goal = x },
		"history": func(s *domain.Step, x string) { s.History = []string{x} },
		"element": func(s *domain.Step, x string) {
			s.Observation.Elements = slices.Clone(s.Observation.Elements)
			s.Observation.Elements[5].Text, s.Observation.Elements[6].Desc = x, x
		},
		"right cell": func(s *domain.Step, x string) {
			s.Decision.Cells = slices.Clone(s.Decision.Cells)
			s.Decision.Cells[0] = agents.NewCell(0, 0, "Reason: "+x+"\nAction: "+right, "", s.Observation)
		},
		"wrong cell": func(s *domain.Step, x string) {
			s.Decision.Cells = slices.Clone(s.Decision.Cells)
			wrong := s.Decision.Cells[2]
			s.Decision.Cells[2] = agents.NewCell(1, 0, "Reason: "+x+"\nAction: "+wrong.Action.JSON(), "", s.Observation)
		},
	}
	cases, changed, unparsed := 0, 0, 0
	for _, x := range injection.Corpus() {
		for place, put := range places {
			bad := s
			put(&bad, x)
			cases++
			for i, got := range label(bad) {
				if bad.Decision.Cells[i].Action == nil { // an agent that fills its reason with braces spoils its own answer, and only that
					unparsed++
					continue
				}
				if got != want[i] {
					changed++
					t.Errorf("%q in the %s: cell %d is labelled %d, want %d", x, place, i, got, want[i])
				}
			}
		}
	}
	clean := 0
	for _, reason := range []string{"short", "two\nlines", strings.Repeat("a long reason ", 40), "tabs\tand  spaces", "ümläute «quotes» 漢字"} {
		ok := s
		places["right cell"](&ok, reason)
		if !slices.Equal(label(ok), want) {
			clean++
			t.Errorf("the defence changes the clean verdict on %q", reason)
		}
	}
	t.Logf("%d injections in %d places: %d labels changed, %d cells that do not parse; %d of 5 clean verdicts changed by folding and bounding", len(injection.Corpus()), cases, changed, unparsed, clean)
}
