// Package plot draws learning curves, and log-probabilities by epoch, as SVG pictures.
package plot

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/collabui/collabui/internal/method/stats"
	"github.com/collabui/collabui/internal/store/runs"
)

// Curve is one line of a picture.
type Curve struct {
	Name     string
	Points   []runs.EvalPoint
	Episodes int    // episodes per point, for its Wilson interval; 0: no interval
	Strong   bool   // drawn in front, with the rate at every point
	Color    string // empty: by Strong; otherwise the curve has its name beside its end
}

// Mean returns the mean of curves as a strong curve, as far as all of them go: a run may stop early.
func Mean(curves []Curve) Curve {
	out, points := Curve{Name: "mean", Strong: true}, len(curves[0].Points)
	for _, c := range curves {
		points = min(points, len(c.Points))
	}
	for i, p := range curves[0].Points[:points] {
		rate := 0.0
		for _, c := range curves {
			rate += c.Points[i].Rate / float64(len(curves))
		}
		out.Points = append(out.Points, runs.EvalPoint{At: p.At, Rate: rate})
	}

	return out
}

// The frame of the picture, and the distance of names, in pixels.
const left, top, bottom, apart = 70.0, 40.0, 255.0, 15.0

// picture is an SVG text that is being written.
type picture struct {
	strings.Builder
	right     float64   // edge of the frame, in pixels
	last      int       // the last epoch
	low, high float64   // of the axis
	ticks     []float64 // where the axis has lines
	unit      string    // format of a tick, such as "%.0f %%"
	scale     float64   // of a tick
}

// Curves returns an SVG picture of success by epoch.
func Curves(title string, curves []Curve) string {
	p := &picture{
		right: 600, last: 1, high: 1, ticks: []float64{0, 0.2, 0.4, 0.6, 0.8, 1}, unit: "%.0f %%", scale: 100,
	}

	return p.draw(title, curves)
}

// LogProbs returns an SVG picture of mean log-probabilities by epoch, in nats, with the curves' names on the right.
func LogProbs(title string, curves []Curve) string {
	p := &picture{right: 480, last: 1, unit: "%.0f", scale: 1}
	for _, c := range curves {
		for _, point := range c.Points {
			p.low = min(p.low, point.Rate)
		}
	}
	step := math.Max(1, math.Ceil(-p.low/6))
	for p.ticks = []float64{0}; p.ticks[len(p.ticks)-1] > p.low; {
		p.ticks = append(p.ticks, p.ticks[len(p.ticks)-1]-step)
	}
	p.low = p.ticks[len(p.ticks)-1]

	return p.draw(title, curves)
}

// draw draws the frame and the curves, strong ones in front.
func (p *picture) draw(title string, curves []Curve) string {
	for _, c := range curves {
		for _, point := range c.Points {
			p.last = max(p.last, point.At)
		}
	}

	p.frame(title)
	for _, strong := range []bool{false, true} {
		for _, c := range curves {
			if c.Strong == strong && len(c.Points) > 0 {
				p.curve(c)
			}
		}
	}
	p.names(curves)
	p.line(`</svg>`)

	return p.String()
}

func (p *picture) line(format string, args ...any) { _, _ = fmt.Fprintf(p, format+"\n", args...) }

func (p *picture) x(at int) float64 { return left + (p.right-left)*float64(at)/float64(p.last) }

func (p *picture) y(v float64) float64 { return bottom - (bottom-top)*(v-p.low)/(p.high-p.low) }

// frame draws title, grid and axes.
func (p *picture) frame(title string) {
	p.line(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 300" font-family="sans-serif" font-size="13">` +
		`<rect width="640" height="300" fill="#fff"/>`)
	p.line(`<text x="%g" y="22" font-size="15">%s</text>`, left, escape(title))

	for _, r := range p.ticks {
		p.line(`<line x1="%g" x2="%g" y1="%.0f" y2="%.0f" stroke="#ddd"/>`+
			`<text x="%g" y="%.0f" text-anchor="end">%s</text>`,
			left, p.right, p.y(r), p.y(r), left-10, p.y(r)+4, fmt.Sprintf(p.unit, p.scale*r))
	}
	for k := 0; k <= p.last; k += max(1, p.last/10) {
		p.line(`<text x="%.0f" y="275" text-anchor="middle">%d</text>`, p.x(k), k)
	}
	p.line(`<text x="%g" y="294" text-anchor="middle">epoch</text>`, (left+p.right)/2)
}

func (p *picture) curve(c Curve) {
	color, width := "#9db0d0", 1.5
	if c.Strong {
		color, width = "#27457c", 3
	}
	if c.Color != "" {
		color, width = c.Color, 2.5
	}

	var path []string
	for _, point := range c.Points {
		path = append(path, fmt.Sprintf("%.0f,%.0f", p.x(point.At), p.y(point.Rate)))
		if c.Episodes > 0 {
			low, high := stats.Wilson(int(math.Round(point.Rate*float64(c.Episodes))), c.Episodes)
			p.line(`<line x1="%.0f" x2="%.0f" y1="%.0f" y2="%.0f" stroke="%s" stroke-opacity=".45" stroke-width="6"/>`,
				p.x(point.At), p.x(point.At), p.y(low), p.y(high), color)
		}
	}
	p.line(`<polyline fill="none" stroke="%s" stroke-width="%g" points="%s"><title>%s</title></polyline>`,
		color, width, strings.Join(path, " "), escape(c.Name))
	if c.Strong {
		p.rates(c.Points, color)
	}
}

// names writes the names of curves with a colour beside their ends, from the highest to the lowest, so that none covers
// another.
func (p *picture) names(curves []Curve) {
	type label struct {
		Curve
		y float64
	}
	var labels []label
	for _, c := range curves {
		if c.Color != "" && len(c.Points) > 0 {
			labels = append(labels, label{c, p.y(c.Points[len(c.Points)-1].Rate)})
		}
	}
	slices.SortStableFunc(labels, func(a, b label) int { return cmp.Compare(a.y, b.y) })

	for i := range labels {
		if i > 0 {
			labels[i].y = max(labels[i].y, labels[i-1].y+apart)
		}
	}
	for i := len(labels) - 1; i >= 0; i-- { // those pushed out of the frame push back
		limit := bottom
		if i < len(labels)-1 {
			limit = labels[i+1].y - apart
		}
		labels[i].y = min(labels[i].y, limit)
		p.line(`<text x="%g" y="%.0f" fill="%s">%s</text>`, p.right+8, labels[i].y+4, labels[i].Color,
			escape(labels[i].Name))
	}
}

// rates draws a dot and the rate at every point.
func (p *picture) rates(points []runs.EvalPoint, color string) {
	for i, point := range points {
		dx := 22
		if i == len(points)-1 {
			dx = -22
		}
		x, y := p.x(point.At), p.y(point.Rate)
		p.line(`<circle cx="%.0f" cy="%.0f" r="4" fill="%s"/>`+
			`<text x="%.0f" y="%.0f" dx="%d" text-anchor="middle" paint-order="stroke" `+
			`stroke="#fff" stroke-width="5">%.0f %%</text>`,
			x, y, color, x, y-12, dx, 100*point.Rate)
	}
}

func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // writing to a builder does not fail

	return b.String()
}
