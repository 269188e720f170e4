package plot

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
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

func TestAMeanGoesAsFarAsAllCurves(t *testing.T) {
	long := Curve{Points: []runs.EvalPoint{{At: 0, Rate: 0.2}, {At: 1, Rate: 0.4}, {At: 2, Rate: 0.6}}}
	short := Curve{Points: []runs.EvalPoint{{At: 0, Rate: 0.4}, {At: 1, Rate: 0.4}}} // stopped early
	for _, curves := range [][]Curve{{long, short}, {short, long}} {
		if got := Mean(curves).Points; len(got) != 2 || got[1].At != 1 || got[1].Rate != 0.4 {
			t.Errorf("the mean is %+v, want the two epochs that both have", got)
		}
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
		`points="70,58 480,49"`, `points="70,94 480,237"`, // the higher, the more probable
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the picture is\n%s\nwant it to have %q", got, want)
		}
	}
}

func TestNamesOfCurvesThatEndTogetherAreApart(t *testing.T) {
	ends := []float64{-1, -1.01, -8, -12, -12, -11.99}
	var curves []Curve
	for i, end := range ends {
		points := []runs.EvalPoint{{Rate: end}}
		curves = append(curves, Curve{Name: fmt.Sprint("curve ", i), Color: "#111111", Points: points})
	}

	var ys []float64
	name := regexp.MustCompile(`y="(\d+)"[^>]*>curve`)
	for _, m := range name.FindAllStringSubmatch(LogProbs("by epoch", curves), -1) {
		y, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			t.Fatalf("ParseFloat(%q) = %v, want a number", m[1], err)
		}
		ys = append(ys, y)
	}
	slices.Sort(ys)
	if len(ys) != len(ends) {
		t.Fatalf("%d names are drawn, want %d", len(ys), len(ends))
	}
	for i, y := range ys {
		if y < top || y > bottom+apart || (i > 0 && y-ys[i-1] < apart-1) {
			t.Errorf("names are at %v, want them within the frame, %g apart", ys, apart)
			break
		}
	}
}
