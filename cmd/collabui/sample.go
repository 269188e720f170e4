package main

import (
	"bytes"
	"encoding/csv"
	"html/template"
	"slices"
	"strconv"
	"strings"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/interop"
	"github.com/collabui/collabui/trainer/rows"
)

// sampled is one item of the sheet that a person judges.
type sampled struct {
	Set string
	Row int // from 1
	domain.Pair
}

// drawSample draws n pairs of all sets together, the same number of each as far as possible.
func drawSample(sets []rows.Set, n int, seed uint64) []sampled {
	bySize := slices.Clone(sets)
	slices.SortStableFunc(bySize, func(a, b rows.Set) int { return len(a.Pairs) - len(b.Pairs) })

	var out []sampled
	left := n
	for i, s := range bySize {
		k := min(left/(len(bySize)-i), len(s.Pairs))
		at := domain.Rand(seed, "sample", s.Name).Perm(len(s.Pairs))[:k]
		slices.Sort(at)
		for _, r := range at {
			out = append(out, sampled{Set: s.Name, Row: r + 1, Pair: s.Pairs[r]})
		}
		left -= k
	}
	slices.SortStableFunc(out, func(a, b sampled) int { return strings.Compare(a.Set, b.Set) })

	return out
}

// sampleCSV returns the sheet for a spreadsheet. The person fills in the columns right and note.
func sampleCSV(items []sampled) ([]byte, error) {
	lines := [][]string{{"set", "row", "template", "kind", "prompt", "answer", "rejected", "right (y/n)", "note"}}
	for _, x := range items {
		lines = append(lines, []string{
			x.Set, strconv.Itoa(x.Row), x.Template, string(x.Source),
			interop.Inert(x.Prompt), interop.Inert(x.Chosen), interop.Inert(x.Rejected), "", "",
		})
	}

	var b bytes.Buffer
	err := csv.NewWriter(&b).WriteAll(lines)

	return b.Bytes(), err
}

var samplePage = template.Must(template.New("").Parse(
	`<!doctype html><meta charset="utf-8"><title>Sample to judge</title>
<style>body{font:14px system-ui,sans-serif;margin:2em}table{border-collapse:collapse}` +
		`td,th{border:1px solid #bbb;padding:.5em;vertical-align:top;text-align:left}` +
		`pre{white-space:pre-wrap;margin:0;max-width:46em}img{max-width:220px}.r{color:#a33}</style>
<h1>{{len .}} items to judge</h1><p>Is the answer right for what the prompt asks, and the rejected one wrong? ` +
		`Verdicts go into sample.csv, which has the same rows.</p>
<table><tr><th>#<th>set, row<th>kind<th>prompt<th>answer<th>rejected</tr>
{{range $i, $x := .}}<tr><td>{{$i}}<td>{{$x.Set}}, {{$x.Row}}<br>{{$x.Template}}<td>{{$x.Source}}<td>` +
		`{{if $x.Image}}<img src="images/{{$x.Image}}.png" alt="screenshot"><br>{{end}}` +
		`<pre>{{$x.Prompt}}</pre><td><pre>{{$x.Chosen}}</pre><td class="r"><pre>{{$x.Rejected}}</pre></tr>
{{end}}</table>
`))

// sampleHTML returns the sheet as a page to read.
func sampleHTML(items []sampled) ([]byte, error) {
	var b bytes.Buffer
	err := samplePage.Execute(&b, items)

	return b.Bytes(), err
}
