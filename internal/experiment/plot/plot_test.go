package plot

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/collabui/collabui/internal/store/runs"
)

func TestPicturesAreWellFormedAndEscaped(t *testing.T) {
	points := []runs.EvalPoint{{At: 0, Rate: 0.5}, {At: 3, Rate: 1}}
	worse := []runs.EvalPoint{{At: 0}, {At: 3, Rate: 0.5}}
	svg := Curves("<script>", []Curve{
		{Name: `a"&b`, Points: points, Episodes: 10},
		Mean([]Curve{{Points: points}, {Points: worse}}),
		{Name: "none"},
	})

	if strings.Contains(svg, "<script>") {
		t.Errorf("the title is not escaped, want no element script:\n%s", svg)
	}
	for _, want := range []string{"75 %", "25 %"} {
		if !strings.Contains(svg, want) {
			t.Errorf("the picture lacks the mean rate, want %q:\n%s", want, svg)
		}
	}

	tokens := 0
	for d := xml.NewDecoder(strings.NewReader(svg)); ; tokens++ {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("the picture is not XML: %v, want well-formed text:\n%s", err, svg)
		}
	}
	if tokens < 20 {
		t.Errorf("the picture has %d tokens, want at least 20", tokens)
	}
}

func TestLogProbabilitiesAreDrawnOnAnAxisBelowZero(t *testing.T) {
	curves := []Curve{
		{Name: "new: chosen", Color: "#111111", Points: []runs.EvalPoint{{At: 0, Rate: -1}, {At: 1, Rate: -0.5}}},
		{Name: "new: rejected", Color: "#222222", Points: []runs.EvalPoint{{At: 0, Rate: -3}, {At: 1, Rate: -11}}},
	}
	got := LogProbs("by epoch", curves)
	for _, want := range []string{
		">new: chosen</text>", ">new: rejected</text>", // names at the ends
		">0</text>", ">-2</text>", ">-12</text>", // the axis reaches the lowest value
		`points="70,58 600,49"`, `points="70,94 600,237"`, // the higher, the more probable
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the picture is\n%s\nwant it to have %q", got, want)
		}
	}
}
