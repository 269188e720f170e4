package terminal

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/collabui/collabui/internal/observe/events"
)

// Bar shows how far a command is: as a bar in a terminal, as lines in a pipe, as events with --json.
type Bar struct {
	Run   string    // the run that the events are about
	Since time.Time // when that began; if set, the time since then is shown behind a bar

	out      io.Writer
	asJSON   bool
	terminal bool
	line     string // the bar that the terminal shows
	last     string // the last line in a pipe
}

// NewBar returns a bar that shows how far a run is, or another name.
func NewBar(out io.Writer, asJSON bool, run string) *Bar {
	return &Bar{Run: run, out: out, asJSON: asJSON, terminal: isTerminal(out) && !asJSON}
}

// Show replaces the bar of a terminal. A pipe gets a line if the text before the bar changed or the bar grew by four
// blocks.
func (b *Bar) Show(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	elapsed := ""
	if !b.Since.IsZero() {
		elapsed = " · " + Duration(time.Since(b.Since)) + " since the start"
	}
	switch {
	case b.asJSON:
		if text != b.last {
			b.last = text
			b.Emit(events.Progress{Run: b.Run, Text: text})
		}
	case b.terminal:
		const noWrap = "\x1b[?7l" // a line wider than the terminal would leave rows behind
		const wrap = "\x1b[?7h"
		_, _ = fmt.Fprintf(b.out, "\r\x1b[K%s%s%s", noWrap, Printable(text+elapsed), wrap)
		b.line = text
	default:
		if key := coarse(text); key != b.last {
			b.last = key
			Line(b.out, "%s%s", text, elapsed)
		}
	}
}

// Objects returns a function that shows, once a second, how many of all objects are copied.
func (b *Bar) Objects() func(done, all int) {
	shown := time.Now()

	return func(done, all int) {
		if time.Since(shown) > time.Second {
			shown = time.Now()
			b.Show("%s %d/%d objects", Blocks(done, all), done, all)
		}
	}
}

// Clear removes the bar.
func (b *Bar) Clear() {
	if b.terminal && b.line != "" {
		_, _ = fmt.Fprint(b.out, "\r\x1b[K")
		b.line = ""
	}
}

// Line prints a line that stays.
func (b *Bar) Line(format string, args ...any) {
	if b.asJSON {
		b.Emit(events.Message{Run: b.Run, Text: fmt.Sprintf(format, args...)})
		return
	}
	b.Clear()
	Line(b.out, format, args...)
}

// Emit prints an event of the command line itself.
func (b *Bar) Emit(event events.Event) {
	if raw, err := events.Encode(event); err == nil {
		Line(b.out, "%s", raw)
	}
}

// Blocks returns a bar of 24 characters.
func Blocks(done, all int) string {
	const width = 24
	full := 0
	if all > 0 {
		full = min(width, width*done/all)
	}

	return "[" + strings.Repeat("█", full) + strings.Repeat("·", width-full) + "]"
}

// coarse returns the part of a text whose change makes a pipe print it again: the text before the bar, and the bar in
// sixths.
func coarse(text string) string {
	full := strings.Count(text, "█")
	if begin := strings.IndexByte(text, '['); begin >= 0 {
		return fmt.Sprint(text[:begin], full/4)
	}

	return text
}
