package main

import (
	"context"
	"fmt"
	"html"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/lineage"
	"github.com/collabui/collabui/internal/store/lines"
	"github.com/collabui/collabui/workers/catalog"
)

// lineageOptions are the flags of lineage.
type lineageOptions struct {
	line  string
	graph string
}

func lineageCmd(a *app) *cobra.Command {
	var o lineageOptions
	c := &cobra.Command{
		Use:   "lineage RUN[@EPOCH]|--line LINE",
		Short: "Show where a system comes from, back to its base policy",
		Long: `lineage follows a system back: the epochs that made it, with environment, critic, pairs, data sets and
what the workers had (prompts, kernel, browser), the forks, stage 1, and the policy that it began with. Without an epoch
it is the best system on val of a run that has ended, otherwise the newest.`,
		Example: "  collabui lineage softer@3\n  collabui lineage --line mobile --graph lineage.svg --json",
		Args:    cobra.MaximumNArgs(1),
		RunE:    func(c *cobra.Command, args []string) error { return a.runLineage(c.Context(), o, args) },
	}
	c.Flags().StringVar(&o.line, "line", "", "the system that this `LINE` accepts")
	c.Flags().StringVar(&o.graph, "graph", "", "also draw it into `FILE`, an SVG picture")

	return c
}

// ancestry is the answer of lineage.
type ancestry struct {
	System lines.System   `json:"system"`
	Steps  []lineage.Step `json:"steps"` // newest first
}

func (a *app) runLineage(ctx context.Context, o lineageOptions, args []string) error {
	if err := oneOf(args, o.line, ""); err != nil {
		return err
	}
	b, _, err := a.bucket()
	if err != nil {
		return err
	}
	x, err := descent(ctx, b, o.line, args)
	if err != nil {
		return err
	}
	if o.graph != "" {
		if err := os.WriteFile(o.graph, []byte(x.svg()), 0o600); err != nil {
			return fault.New(fault.Invalid, "--graph: %w", err)
		}
	}

	return a.print(x, x.text)
}

// descent reads the lineage of a system of a line or of a run.
func descent(ctx context.Context, b store.Bucket, line string, args []string) (x ancestry, err error) {
	if line != "" {
		e, err := lines.Line(line).Current(ctx, b)
		if err != nil {
			return x, err
		}
		x.System = e.System
	} else {
		run, epoch, err := systemArg(args[0])
		if err != nil {
			return x, err
		}
		if x.System, err = lines.Find(ctx, b, run, epoch); err != nil {
			return x, err
		}
	}
	x.Steps, err = lineage.Of(ctx, b, x.System, catalog.All{})

	return x, err
}

func (x ancestry) text(w io.Writer) {
	say(w, "%s", x.System)
	for _, s := range x.Steps {
		say(w, "  ← %s", s.Text)
		for _, line := range details(s) {
			say(w, "      %s", line)
		}
	}
}

// details returns lines about a step: what the workers had, and its data.
func details(s lineage.Step) (out []string) {
	if s.Kernel+s.Browser+s.Prompts != "" {
		had := fmt.Sprintf("prompts %.12s  %s  %s", s.Prompts, s.Kernel, s.Browser)
		if s.Version != "" {
			had += fmt.Sprintf("  environment %.12s", s.Version)
		}
		if s.Code != "" {
			had += fmt.Sprintf("  code %.12s", s.Code)
		}
		out = append(out, had)
	}
	var sums []string
	for _, d := range s.Datasets {
		sums = append(sums, fmt.Sprintf("%.12s", d.SHA256))
	}
	if len(sums) > 0 {
		out = append(out, "data "+strings.Join(sums, " "))
	}
	sums = nil
	for _, p := range s.Policies {
		sums = append(sums, fmt.Sprintf("%.12s", p))
	}
	if len(sums) > 0 {
		out = append(out, "policies "+strings.Join(sums, " "))
	}

	return out
}

// svg draws the steps as boxes, the newest on top.
func (x ancestry) svg() string {
	const width, line, gap = 1000, 18, 22
	var b strings.Builder
	y := 10
	box := func(title string, details []string, color string) {
		height := 14 + line*(1+len(details))
		say(&b, `<rect x="10" y="%d" width="%d" height="%d" rx="6" fill="%s" stroke="#555"/>`,
			y, width-20, height, color)
		say(&b, `<text x="22" y="%d" font-weight="bold">%s</text>`, y+20, html.EscapeString(shortened(title)))
		for i, d := range details {
			say(&b, `<text x="22" y="%d" fill="#444">%s</text>`, y+20+line*(i+1), html.EscapeString(shortened(d)))
		}
		y += height + gap
	}
	box(x.System.String(), nil, "#d9f0d3")
	colors := map[lineage.Kind]string{
		lineage.KindEpoch: "#f7f7f7", lineage.KindFork: "#fee0b6", lineage.KindStage1: "#d1e5f0",
		lineage.KindImported: "#e7d4e8",
	}
	for _, s := range x.Steps {
		say(&b, `<path d="M 500 %d V %d" stroke="#555" marker-start="url(#up)"/>`, y-gap+2, y)
		box(s.Text, details(s), colors[s.Kind])
	}

	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" `+
		`font-size="13"><defs><marker id="up" markerWidth="8" markerHeight="8" refX="4" refY="1" orient="0">`+
		`<path d="M 0 6 L 4 0 L 8 6 z" fill="#555"/></marker></defs><rect width="100%%" height="100%%" fill="white"/>`+
		"\n%s</svg>\n", width, y, b.String())
}

// shortened cuts a text to what a box holds.
func shortened(text string) string {
	const most = 140
	if r := []rune(text); len(r) > most {
		return string(r[:most-1]) + "…"
	}

	return text
}
