package estimate

import (
	"fmt"
	"slices"
	"strings"
)

// columns are those of the table. One that is empty in all lines is left out.
var columns = []struct {
	name string
	of   func(Line) Range
	text func(float64) string
}{
	{"calls", func(l Line) Range { return l.Calls }, count},
	{"tokens", func(l Line) Range { return l.Tokens }, count},
	{"money", func(l Line) Range { return l.Money }, money},
	{"hours", func(l Line) Range { return l.Hours }, hours},
	{"place hours", func(l Line) Range { return l.Places }, hours},
	{"GPU hours", func(l Line) Range { return l.Devices }, hours},
	{"disk", func(l Line) Range { return l.Bytes }, bytes},
}

// Text returns the lines as a table.
func Text(lines []Line) string {
	cells := make([][]string, len(lines)+1)
	put := func(i int, cell string) { cells[i] = append(cells[i], cell) }
	put(0, "")
	for i, l := range lines {
		put(i+1, l.Name)
	}
	for _, c := range columns {
		if !slices.ContainsFunc(lines, func(l Line) bool { return c.of(l).High > 0 }) {
			continue
		}
		put(0, c.name)
		for i, l := range lines {
			put(i+1, span(c.of(l), c.text))
		}
	}

	return aligned(cells)
}

// aligned returns rows of cells as lines: the first column to the left, the others to the right.
func aligned(rows [][]string) string {
	width := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], len(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		fmt.Fprintf(&b, "%-*s", width[0], row[0])
		for i, cell := range row[1:] {
			fmt.Fprintf(&b, "   %*s", width[i+1], cell)
		}
		b.WriteByte('\n')
	}

	return b.String()
}

func span(r Range, text func(float64) string) string {
	switch {
	case r.High == 0:
		return "-"
	case text(r.Low) == text(r.High):
		return text(r.Mid)
	}

	return fmt.Sprintf("%s (%s to %s)", text(r.Mid), text(r.Low), text(r.High))
}

func count(x float64) string {
	switch {
	case x >= 1e6:
		return fmt.Sprintf("%.1f M", x/1e6)
	case x >= 1e4:
		return fmt.Sprintf("%.0f k", x/1e3)
	}

	return fmt.Sprintf("%.0f", x)
}

func money(x float64) string { return fmt.Sprintf("%.2f", x) }

func hours(x float64) string {
	if x < 1 {
		return fmt.Sprintf("%.1f min", 60*x)
	}

	return fmt.Sprintf("%.1f h", x)
}

func bytes(x float64) string {
	if x < 1e9 {
		return fmt.Sprintf("%.0f MB", x/1e6)
	}

	return fmt.Sprintf("%.1f GB", x/1e9)
}
