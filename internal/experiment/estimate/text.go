package estimate

import (
	"fmt"
	"strings"
)

// Text returns the lines as a table.
func Text(lines []Line) string {
	const format = "%-34s %18s %20s %20s %18s %20s\n"
	var b strings.Builder
	fmt.Fprintf(&b, format, "", "calls", "tokens", "money", "hours", "disk")
	for _, l := range lines {
		fmt.Fprintf(&b, format, l.Name,
			span(l.Calls, count), span(l.Tokens, count), span(l.Money, money),
			span(l.Hours, hours), span(l.Bytes, bytes))
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

	return text(r.Low) + " to " + text(r.High)
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
