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
	"github.com/collabui/collabui/internal/experiment"
	"github.com/collabui/collabui/internal/records/experiments"
	"github.com/collabui/collabui/internal/records/runs"
)

// printDeclared prints what an experiment declares.
func printDeclared(out io.Writer, declared experiment.Experiment) {
	terminal.Line(out, "%s: %s", declared.Name, declared.About)
	terminal.Line(out, "%s; episodes per system and seed: %s", terminal.Count(declared.Seeds, "seed"),
		episodesOf(declared))
	episodes := 0
	for i, arm := range declared.Arms {
		var set []string
		for _, key := range slices.Sorted(maps.Keys(arm.Set)) {
			set = append(set, key+"="+arm.Set[key])
		}
		line := strings.Join(set, " ")
		switch {
		case i == 0:
			line = strings.TrimSpace(line + " (others share with it what they have equal)")
		case arm.From != "":
			line += " (trains " + arm.From + " further)"
		}
		terminal.Line(out, "  arm %-14s %s", arm.Name, line)
		one, two := declared.Plays(arm.Name)
		for _, play := range append(one, two...) {
			terminal.Line(out, "      plays %s on %s", play.Kind, play.Split)
			episodes += declared.Seeds * declared.Episodes[play.Split]
		}
	}
	terminal.Line(out, "  in all %s and %s of evaluation", terminal.Count(declared.Seeds*len(declared.Arms), "run"),
		terminal.Count(episodes, "episode"))
	printPower(out, declared)
}

// episodesOf returns the episodes of all splits in a few words.
func episodesOf(declared experiment.Experiment) string {
	var out []string
	for _, split := range slices.Sorted(maps.Keys(declared.Episodes)) {
		out = append(out, fmt.Sprintf("%s %d", split, declared.Episodes[split]))
	}

	return strings.Join(out, ", ")
}

// printPower prints the contrasts, with the power of those that declare an expectation.
func printPower(out io.Writer, declared experiment.Experiment) {
	for _, contrast := range declared.Contrasts {
		line := "  contrast " + contrast.String()
		if contrast.Primary {
			line += ", primary"
		}
		if contrast.Claim != "" {
			line += fmt.Sprintf(", claims %s %g", contrast.Claim, contrast.Margin)
		}
		if p, ok := declared.Power(contrast); ok {
			line += fmt.Sprintf(", power %.0f %% for %+g points with a spread of %g over %s",
				100*p, contrast.Expected, contrast.Spread, terminal.Count(declared.Seeds, "seed"))
		}
		terminal.Line(out, "%s", line)
	}
}

// printTable prints the result of an experiment. It returns an error if a claim does not hold.
func printTable(session *app.Session, version experiments.Version, result experiments.Result) error {
	declared := version.Experiment
	err := session.Print(result, func(out io.Writer) {
		terminal.Line(out, "\n%s", declared.About)
		terminal.Line(out,
			"%s; paired episodes per system and seed: %s; version %d of the declaration, %.12s, by %s at %s",
			terminal.Count(declared.Seeds, "seed"), episodesOf(declared), version.Number, version.Digest, version.Who,
			version.At.UTC().Format("2006-01-02 15:04:05"))
		terminal.Line(out,
			"differences in points; [t] is Student's interval over seeds, [c] that over seeds and templates, "+
				"both at 95 %%;\np of the t-test, by Holm's method adjusted for the number of contrasts that "+
				"are not primary\n")
		wide := 0
		for _, row := range result.Rows {
			wide = max(wide, len([]rune(row.String())))
		}
		for _, row := range result.Rows {
			terminal.Line(out, "%s", tableRow(row, wide))
		}
		terminal.Line(out, "")
		for _, key := range slices.Sorted(maps.Keys(result.Figures)) {
			_, split, _ := strings.Cut(key, " on ")
			terminal.Line(out, "%s: %s%s", key, figuresText(result.Figures[key]), valNote(split))
		}
		for _, arm := range slices.Sorted(maps.Keys(result.Updates)) {
			terminal.Line(out, "%s", updatesLine(arm, result.Updates[arm]))
		}
		for _, key := range slices.Sorted(maps.Keys(result.Readers)) {
			terminal.Line(out, "%s", readersLine(key, result.Readers[key]))
		}
	})
	if err != nil {
		return err
	}
	for _, row := range result.Rows {
		if !row.Holds {
			return fmt.Errorf("%w: %s", app.ErrFailed, row.Contrast)
		}
	}

	return nil
}

// updatesLine reports how many updates of an arm counted.
func updatesLine(arm string, updates experiments.Updates) string {
	line := fmt.Sprintf("updates of %s: %d of %d counted", arm, updates.Counted, updates.All)
	if updates.Counted == 0 {
		line += "; NONE: its trained system is its base, and no contrast says anything about its training"
	}

	return line
}

// readersLine returns what became of the answers of a system's readers, beside the answers of the same agents without
// messages, if the silent system played.
func readersLine(key string, readers experiments.Readers) string {
	turned := func(reading runs.Reading) string {
		return fmt.Sprintf("%d of %d wrong answers turned right, %d of %d right ones wrong",
			reading.WrongRight, reading.Wrong(), reading.RightWrong, reading.Right())
	}
	line := fmt.Sprintf("readers of %s: %s", key, turned(readers.With))
	if readers.Without != nil {
		line += "; without messages: " + turned(*readers.Without)
	}

	return line
}

// valNote marks val, the split by which systems were chosen.
func valNote(split string) string {
	if _, name := experiment.Elsewhere(split); name != domain.SplitVal {
		return ""
	}

	return "  (val chose the systems)"
}

// figuresText returns the further figures of a system, as far as they are known: pass^1, pass^2, pass^4, pass@2 and
// pass@4, the entropy of the votes, and false completes. pass@1 is pass^1.
func figuresText(figures experiment.Figures) string {
	var parts []string
	if len(figures.Pass) > 0 {
		parts = append(parts, passText("^", 0, figures.Pass)+" of a template")
	}
	if len(figures.PassAt) > 1 {
		parts = append(parts, passText("@", 1, figures.PassAt))
	}
	if figures.Entropy != nil {
		parts = append(parts, fmt.Sprintf("entropy of votes %.2f nats", *figures.Entropy))
	}
	parts = append(parts, fmt.Sprintf("false completes %.1f %%", 100*figures.FalseCompletes))

	return strings.Join(parts, "; ")
}

// passText returns rates for k = 2^i from i = first on.
func passText(sign string, first int, rates []float64) string {
	var names, texts []string
	for i, rate := range rates {
		if i >= first {
			names = append(names, fmt.Sprintf("%s%d", sign, 1<<i))
			texts = append(texts, fmt.Sprintf("%.1f", 100*rate))
		}
	}

	return fmt.Sprintf("pass%s %s %%", strings.Join(names, ", "), strings.Join(texts, ", "))
}

// tableRow returns a line of the table.
func tableRow(row experiment.Row, wide int) string {
	name := row.String()
	line := fmt.Sprintf("%s%s %5.1f − %5.1f = %+5.1f", name, strings.Repeat(" ", wide-len([]rune(name))),
		row.OfRate, row.MinusRate, row.Mean)
	if row.Repeated {
		line += fmt.Sprintf("  [c %+.1f, %+.1f]  no [t] and no p: seeds repeat the same systems", row.WideLow,
			row.WideHigh)
	} else {
		line += fmt.Sprintf("  [t %+.1f, %+.1f]  [c %+.1f, %+.1f]  p %.3f", row.Low, row.High, row.WideLow,
			row.WideHigh,
			row.Adjusted)
	}
	if row.Missing > 0 {
		line += fmt.Sprintf("  %s missing: %+.1f to %+.1f with them", terminal.Count(row.Missing, "pair"),
			row.Worst, row.Best)
	}
	if row.Primary {
		line += "  primary"
	}
	if row.Late {
		line += "  DECLARED WHEN RESULTS WERE KNOWN"
	}
	line += valNote(row.Split)

	return strings.TrimSpace(line + "  " + row.Verdict())
}
