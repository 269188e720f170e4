package external

import (
	"fmt"
	"os"
	"strings"
)

const (
	// maxSaid bounds the part of a program's output that Tool.Alarm looks at, in bytes from its start.
	maxSaid = 256 << 10
	// maxTail bounds the last lines of a program's output in an error, in bytes.
	maxTail = 4000
)

// said returns the beginning of what the program has written in this run.
func (w *watch) said() string {
	raw := make([]byte, maxSaid)
	n, _ := w.log.ReadAt(raw, w.from)

	return string(raw[:n])
}

// note writes a line of our own into the log, unless it repeats the last one.
func (w *watch) note(format string, args ...any) {
	if text := fmt.Sprintf("collabui: "+format+"\n", args...); text != w.lastNote {
		n, _ := w.log.WriteString(text)
		w.noted = w.noted + int64(n)
		w.lastNote = text
	}
}

// tail returns the end of what the program has written since an offset.
func tail(file string, from int64) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()

	st, err := f.Stat()
	if err != nil {
		return ""
	}
	raw := make([]byte, max(0, min(st.Size()-from, 16*maxTail)))
	n, _ := f.ReadAt(raw, st.Size()-int64(len(raw)))

	return strings.ToValidUTF8(string(raw[:n]), "�")
}

// Tail shortens a program's last lines for an error's text.
func Tail(text string) string {
	text = strings.TrimSpace(text)
	if len(text) > maxTail {
		text = "…" + strings.ToValidUTF8(text[len(text)-maxTail:], "")
	}

	return text
}
