//go:build integration

package integration

import (
	"encoding/json"
	"fmt"
	"html"
	"math"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// curve is a series over time.
type curve struct {
	Metric map[string]string
	Values [][2]any // Unix seconds and a number as text
}

// point returns value i as seconds and a number.
func (c curve) point(i int) (at, value float64) {
	at, _ = c.Values[i][0].(float64)
	text, _ := c.Values[i][1].(string)
	value, _ = strconv.ParseFloat(text, 64)

	return at, value
}

// curves asks a query of the last minutes.
func (p *prometheus) curves(query string, since time.Duration) []curve {
	p.t.Helper()
	now := time.Now()
	ask := url.Values{
		"query": {query}, "step": {"2"},
		"start": {strconv.FormatInt(now.Add(-since).Unix(), 10)}, "end": {strconv.FormatInt(now.Unix(), 10)},
	}
	r, err := http.Get("http://" + p.addr + "/api/v1/query_range?" + ask.Encode())
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	var x struct{ Data struct{ Result []curve } }
	if err := json.NewDecoder(r.Body).Decode(&x); err != nil {
		p.t.Fatal(err)
	}

	return x.Data.Result
}

// label is a part of a legend.
var label = regexp.MustCompile(`\{\{(\w+)\}\}`)

// dashboard draws the panels of the dashboard into a page, as Grafana would, and returns the page's path. Grafana is in
// no registry of packages, so a picture of it cannot be taken here.
func (p *prometheus) dashboard(file string, since time.Duration) string {
	p.t.Helper()
	var b strings.Builder
	b.WriteString(`<!DOCTYPE html><meta charset="utf-8"><style>body{font:12px sans-serif;display:flex;flex-wrap:wrap}
h2{width:100%;margin:8px}figure{margin:6px;width:370px}svg{background:#f6f6f6;width:370px;height:150px}
figcaption{font-weight:bold}small{display:block}</style>`)
	for _, x := range panels(p.t) {
		if x.Type == "row" {
			fmt.Fprintf(&b, "<h2>%s</h2>", html.EscapeString(x.Title))
			continue
		}
		var all []curve
		var names []string
		for _, q := range x.Targets {
			for _, c := range p.curves(q.Expr, since) {
				all = append(all, c)
				names = append(names, label.ReplaceAllStringFunc(q.LegendFormat, func(s string) string {
					return c.Metric[strings.Trim(s, "{}")]
				}))
			}
		}
		fmt.Fprintf(&b, "<figure><figcaption>%s</figcaption>%s</figure>", html.EscapeString(x.Title),
			lines(all, names, time.Now().Add(-since)))
	}
	if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
		p.t.Fatal(err)
	}

	return file
}

// lines draws series from some time until now, on a common scale from 0, with a legend.
func lines(all []curve, names []string, since time.Time) string {
	from, to, top := float64(since.Unix()), float64(time.Now().Unix()), 0.0
	for _, c := range all {
		for i := range c.Values {
			if _, v := c.point(i); !math.IsNaN(v) && !math.IsInf(v, 0) {
				top = max(top, v)
			}
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 370 150"><text x="2" y="12" font-size="11">%.3g</text>`, top)
	for k, c := range all {
		var at []string
		for i := range c.Values {
			if x, y := c.point(i); !math.IsNaN(y) && !math.IsInf(y, 0) {
				at = append(at, fmt.Sprintf("%.1f,%.1f", 365*(x-from)/max(1, to-from), 146-130*y/max(1e-12, top)))
			}
		}
		fmt.Fprintf(&b, `<polyline fill="none" stroke="hsl(%d 70%% 40%%)" points="%s"/>`, k*67%360,
			strings.Join(at, " "))
	}
	b.WriteString("</svg>")
	for k, name := range names {
		fmt.Fprintf(&b, `<small style="color:hsl(%d 70%% 40%%)">%s</small>`, k*67%360, html.EscapeString(name))
	}

	return b.String()
}
