package experiment

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/cmd/collabui/terminal"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/design"
	"github.com/collabui/collabui/internal/store/experiments"
)

// printDeclared prints what an experiment declares.
func printDeclared(w io.Writer, x design.Experiment) {
	terminal.Line(w, "%s: %s", x.Name, x.About)
	terminal.Line(w, "%d seeds; episodes per system and seed: %s", x.Seeds, episodesOf(x))
	episodes := 0
	for i, a := range x.Arms {
		var set []string
		for _, key := range slices.Sorted(maps.Keys(a.Set)) {
			set = append(set, key+"="+a.Set[key])
		}
		line := strings.Join(set, " ")
		switch {
		case i == 0:
			line = strings.TrimSpace(line + " (others share with it what they have equal)")
		case a.From != "":
			line += " (trains " + a.From + " further)"
		}
		terminal.Line(w, "  arm %-14s %s", a.Name, line)
		one, two := x.Plays(a.Name)
		for _, p := range append(one, two...) {
			terminal.Line(w, "      plays %s on %s", p.Kind, p.Split)
			episodes += x.Seeds * x.Episodes[p.Split]
		}
	}
	terminal.Line(w, "  in all %d runs and %d episodes of evaluation", x.Seeds*len(x.Arms), episodes)
	printPower(w, x)
}

// episodesOf returns the episodes of all splits in a few words.
func episodesOf(x design.Experiment) string {
	var out []string
	for _, split := range slices.Sorted(maps.Keys(x.Episodes)) {
		out = append(out, fmt.Sprintf("%s %d", split, x.Episodes[split]))
	}

	return strings.Join(out, ", ")
}

// printPower prints the contrasts, with the power of those that declare an expectation.
func printPower(w io.Writer, x design.Experiment) {
	for _, c := range x.Contrasts {
		line := "  contrast " + c.String()
		if c.Primary {
			line += ", primary"
		}
		if c.Claim != "" {
			line += fmt.Sprintf(", claims %s %g", c.Claim, c.Margin)
		}
		if p, ok := x.Power(c); ok {
			line += fmt.Sprintf(", power %.0f %% for %+g points with a spread of %g over %d seeds",
				100*p, c.Expected, c.Spread, x.Seeds)
		}
		terminal.Line(w, "%s", line)
	}
}

// printTable prints the result of an experiment. It returns an error if a claim does not hold.
func printTable(s *app.Session, v experiments.Version, r experiments.Result) error {
	x := v.Experiment
	err := s.Print(r, func(w io.Writer) {
		terminal.Line(w, "\n%s", x.About)
		terminal.Line(w, "%d seeds; paired episodes per system and seed: %s; version %d of the declaration, %.12s, by %s at %s",
			x.Seeds, episodesOf(x), v.Number, v.Digest, v.Who, v.At.UTC().Format("2006-01-02 15:04:05"))
		terminal.Line(w, "differences in points; [t] is Student's interval over seeds, [c] that over seeds and templates, "+
			"both at 95 %%;\np of the t-test, by Holm's method adjusted for the number of contrasts that "+
			"are not primary\n")
		wide := 0
		for _, row := range r.Rows {
			wide = max(wide, len([]rune(row.String())))
		}
		for _, row := range r.Rows {
			terminal.Line(w, "%s", tableRow(row, wide))
		}
		terminal.Line(w, "")
		for _, key := range slices.Sorted(maps.Keys(r.Figures)) {
			f := r.Figures[key]
			_, split, _ := strings.Cut(key, " on ")
			terminal.Line(w, "%s: %sfalse completes %.1f %%%s", key, passes(f.Pass), 100*f.FalseCompletes, chosen(split))
		}
		for _, arm := range slices.Sorted(maps.Keys(r.Updates)) {
			terminal.Line(w, "%s", updatesLine(arm, r.Updates[arm]))
		}
		for _, key := range slices.Sorted(maps.Keys(r.Reading)) {
			d := r.Reading[key]
			terminal.Line(w, "reading, %s: %d answers wrong to right, %d right to wrong, %d stayed right, %d wrong", key,
				d.WrongRight, d.RightWrong, d.RightRight, d.WrongWrong)
		}
	})
	if err != nil {
		return err
	}
	for _, row := range r.Rows {
		if !row.Holds {
			return fmt.Errorf("%w: %s", app.ErrFailed, row.Contrast)
		}
	}

	return nil
}

// updatesLine reports how many updates of an arm counted.
func updatesLine(arm string, u experiments.Updates) string {
	line := fmt.Sprintf("updates of %s: %d of %d counted", arm, u.Counted, u.All)
	if u.Counted == 0 {
		line += "; NONE: its trained system is its base, and no contrast says anything about its training"
	}

	return line
}

// chosen marks val, the split by which systems were chosen.
func chosen(split string) string {
	if _, name := design.Elsewhere(split); name != domain.SplitVal {
		return ""
	}

	return "  (val chose the systems)"
}

// passes returns pass^1, pass^2 and pass^4, as far as they are known.
func passes(pass []float64) string {
	var names, rates []string
	for i, p := range pass {
		names = append(names, fmt.Sprintf("^%d", 1<<i))
		rates = append(rates, fmt.Sprintf("%.1f", 100*p))
	}
	if len(pass) == 0 {
		return ""
	}

	return fmt.Sprintf("pass%s of a template %s %%; ", strings.Join(names, ", "), strings.Join(rates, ", "))
}

// tableRow returns a line of the table.
func tableRow(r design.Row, wide int) string {
	name := r.String()
	line := fmt.Sprintf("%s%s %5.1f − %5.1f = %+5.1f", name, strings.Repeat(" ", wide-len([]rune(name))),
		r.OfRate, r.MinusRate, r.Mean)
	if r.Repeated {
		line += fmt.Sprintf("  [c %+.1f, %+.1f]  no [t] and no p: seeds repeat the same systems", r.WideLow, r.WideHigh)
	} else {
		line += fmt.Sprintf("  [t %+.1f, %+.1f]  [c %+.1f, %+.1f]  p %.3f", r.Low, r.High, r.WideLow, r.WideHigh,
			r.Adjusted)
	}
	if r.Missing > 0 {
		line += fmt.Sprintf("  %d pairs missing: %+.1f to %+.1f with them", r.Missing, r.Worst, r.Best)
	}
	if r.Primary {
		line += "  primary"
	}
	if r.Late {
		line += "  DECLARED WHEN RESULTS WERE KNOWN"
	}
	line += chosen(r.Split)

	return strings.TrimSpace(line + "  " + r.Verdict())
}
