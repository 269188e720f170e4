package main

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/collabui/collabui/internal/store/runs"
)

func TestCurvesAreWellFormedAndEscaped(t *testing.T) {
	points := []runs.EvalPoint{{At: 0, Rate: 0.5}, {At: 3, Rate: 1}}
	svg := drawCurves("<script>", []curve{{name: `a"&b`, points: points}, mean([]curve{{points: points}, {points: []runs.EvalPoint{{At: 0}, {At: 3, Rate: 0.5}}}}), {name: "none"}})
	if strings.Contains(svg, "<script>") || !strings.Contains(svg, "75 %") || !strings.Contains(svg, "25 %") {
		t.Error(svg)
	}
	d, n := xml.NewDecoder(strings.NewReader(svg)), 0
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err, svg)
		}
		n++
	}
	if n < 20 {
		t.Error(n, " tokens")
	}
}
