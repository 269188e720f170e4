package main

import (
	"encoding/xml"
	"fmt"
	"math"
	"os"
	"strings"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/stats"
	"github.com/collabui/collabui/internal/store/runs"
)

// curve is one line of a learning curve; with episodes, each point has its Wilson interval.
type curve struct {
	name     string
	points   []runs.EvalPoint
	episodes int
	strong   bool // drawn in front; the others stand behind it
}

// drawCurves draws success on val by epoch as an SVG picture.
func drawCurves(title string, curves []curve) string {
	const left, right, top, bottom = 70.0, 600.0, 40.0, 255.0
	last := 1
	for _, c := range curves {
		for _, p := range c.points {
			last = max(last, p.At)
		}
	}
	x := func(at int) float64 { return left + (right-left)*float64(at)/float64(last) }
	y := func(rate float64) float64 { return bottom - (bottom-top)*rate }
	var b strings.Builder
	out := func(format string, args ...any) { _, _ = fmt.Fprintf(&b, format+"\n", args...) }
	out(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 300" font-family="sans-serif" font-size="13"><rect width="640" height="300" fill="#fff"/>`)
	out(`<text x="%g" y="22" font-size="15">%s</text>`, left, escape(title))
	for _, r := range []float64{0, 0.2, 0.4, 0.6, 0.8, 1} {
		out(`<line x1="%g" x2="%g" y1="%.0f" y2="%.0f" stroke="#ddd"/><text x="%g" y="%.0f" text-anchor="end">%.0f %%</text>`, left, right, y(r), y(r), left-10, y(r)+4, 100*r)
	}
	for k := 0; k <= last; k += max(1, last/10) {
		out(`<text x="%.0f" y="275" text-anchor="middle">%d</text>`, x(k), k)
	}
	out(`<text x="%g" y="294" text-anchor="middle">epoch</text>`, (left+right)/2)
	for _, strong := range []bool{false, true} {
		for _, c := range curves {
			if c.strong != strong || len(c.points) == 0 {
				continue
			}
			color, width := "#9db0d0", 1.5
			if strong {
				color, width = "#27457c", 3
			}
			var path []string
			for _, p := range c.points {
				path = append(path, fmt.Sprintf("%.0f,%.0f", x(p.At), y(p.Rate)))
				if c.episodes > 0 {
					low, high := stats.Wilson(int(math.Round(p.Rate*float64(c.episodes))), c.episodes)
					out(`<line x1="%.0f" x2="%.0f" y1="%.0f" y2="%.0f" stroke="%s" stroke-opacity=".45" stroke-width="6"/>`, x(p.At), x(p.At), y(low), y(high), color)
				}
			}
			out(`<polyline fill="none" stroke="%s" stroke-width="%g" points="%s"><title>%s</title></polyline>`, color, width, strings.Join(path, " "), escape(c.name))
			for i, p := range c.points {
				if strong {
					dx := 22
					if i == len(c.points)-1 {
						dx = -22
					}
					out(`<circle cx="%.0f" cy="%.0f" r="4" fill="%s"/><text x="%.0f" y="%.0f" dx="%d" text-anchor="middle" paint-order="stroke" stroke="#fff" stroke-width="5">%.0f %%</text>`, x(p.At), y(p.Rate), color, x(p.At), y(p.Rate)-12, dx, 100*p.Rate)
				}
			}
		}
	}
	out(`</svg>`)
	return b.String()
}

func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a builder does not fail
	return b.String()
}

func writeCurves(file, title string, curves []curve) error {
	if err := os.WriteFile(file, []byte(drawCurves(title, curves)), 0o644); err != nil {
		return fault.New(fault.Invalid, "--curve: %w", err)
	}
	return nil
}
