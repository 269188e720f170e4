package interop

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// OpenMetrics writes the figures of a run as OpenMetrics: gauges with the labels run, epoch, agent, system and split.
// Of a curve by optimiser step it has the last value of each epoch.
func OpenMetrics(w io.Writer, r Records) error {
	families := map[string][]string{} // samples by family
	var order []Figure
	add := func(p Point) {
		if families[p.Name] == nil {
			order = append(order, p.Figure)
		}
		families[p.Name] = append(families[p.Name], fmt.Sprintf("collabui_%s{%s} %s\n", p.Name, labelled(r, p),
			strconv.FormatFloat(p.Value, 'g', -1, 64)))
	}
	for _, p := range append(last(r.Curves()), r.ofResults()...) {
		add(p)
	}

	var out strings.Builder
	for _, f := range order {
		fmt.Fprintf(&out, "# TYPE collabui_%s gauge\n# HELP collabui_%[1]s %s\n", f.Name, escape.Replace(f.About))
		for _, s := range families[f.Name] {
			out.WriteString(s)
		}
	}
	out.WriteString("# EOF\n")
	_, err := io.WriteString(w, out.String())

	return err
}

// escape is that of label values and help texts.
var escape = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func labelled(r Records, p Point) string {
	agent := ""
	if p.Agent != NoAgent {
		agent = strconv.Itoa(p.Agent)
	}
	out := fmt.Sprintf(`run="%s",epoch="%d"`, escape.Replace(string(r.Run)), p.Epoch)
	for _, l := range [][2]string{{"agent", agent}, {"system", p.System}, {"split", p.Split}} {
		if l[1] != "" {
			out += fmt.Sprintf(`,%s="%s"`, l[0], escape.Replace(l[1]))
		}
	}

	return out
}

// last returns the last point of each curve in each epoch, by curve.
func last(points []Point) []Point {
	type place struct {
		tag   string
		epoch int
	}
	at := map[place]int{}
	var out []Point
	for _, p := range points {
		key := place{p.Tag(), p.Epoch}
		if i, ok := at[key]; ok {
			if p.Step >= out[i].Step {
				out[i] = p
			}
			continue
		}
		at[key] = len(out)
		out = append(out, p)
	}
	slices.SortStableFunc(out, func(a, b Point) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), a.Agent-b.Agent, a.Epoch-b.Epoch)
	})

	return out
}

// ofResults returns the figures of evaluated items, by figure.
func (r Records) ofResults() []Point {
	var out []Point
	for _, f := range resultFigures {
		for _, e := range r.Results {
			out = append(out, Point{
				Figure: f.Figure, Epoch: e.Epoch, Agent: NoAgent, System: e.name(), Split: e.Split, Value: f.of(e),
			})
		}
	}

	return out
}

// resultFigures are the figures of results.
var resultFigures = []struct {
	Figure
	of func(Evaluated) float64
}{
	{Figure{"result_rate", "rate of an evaluation, from 0 to 1"}, func(e Evaluated) float64 { return e.Rate }},
	{Figure{"result_rate_low", "lower end of its interval at 95 %"}, func(e Evaluated) float64 { return e.Low }},
	{Figure{"result_rate_high", "upper end of its interval at 95 %"}, func(e Evaluated) float64 { return e.High }},
	{Figure{"result_episodes", "episodes with an outcome"}, func(e Evaluated) float64 { return float64(e.Episodes) }},
	{Figure{"result_missing", "episodes without an outcome"}, func(e Evaluated) float64 { return float64(e.Missing) }},
	{
		Figure{"result_tokens", "tokens of prompts and answers of the agents"},
		func(e Evaluated) float64 { return float64(e.Cost.Prompt + e.Cost.Answer) },
	},
}
