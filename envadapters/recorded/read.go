// Package recorded plays recorded tasks, teacher-forced: whatever an agent does, the recorded next page follows, and every step is scored by itself. It also reads the files
// in which such tasks come. It knows no data set.
package recorded

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/collabui/collabui/fault"
)

// maxRecord bounds one record of a file, in bytes.
const maxRecord = 256 << 20

// Where says where a record stands in a file.
type Where struct {
	File   string
	Line   int   // of its first character, from 1
	Offset int64 // in bytes
	Length int
}

func (w Where) String() string { return fmt.Sprintf("%s:%d", w.File, w.Line) }

// Problem is a record that could not be read.
type Problem struct {
	Where Where
	Err   error
}

// Skips reads the option broken: whether records that cannot be read are skipped.
func Skips(suite, broken string) (bool, error) {
	switch broken {
	case "skip":
		return true, nil
	case "", "stop":
		return false, nil
	}
	return false, fault.New(fault.Invalid, "%s: broken: expected stop or skip, not %q", suite, broken)
}

// Read streams the JSON objects of a file, an array of them or one behind the other, and gives the file's SHA-256. One record is in memory at a time. A record that is no JSON,
// or for which f fails, is a problem: given back where skip is set, else the error, which names file and line. What stands between the objects is not looked at.
func Read(file string, skip bool, f func(raw []byte, at Where) error) (digest string, problems []Problem, err error) {
	in, err := os.Open(file)
	if err != nil {
		return "", nil, fault.New(fault.Invalid, "open recorded tasks: %w", err)
	}
	defer func() { _ = in.Close() }()
	h := sha256.New()
	s := splitter{in: bufio.NewReaderSize(io.TeeReader(in, h), 1<<20), line: 1}
	n := 0
	for {
		raw, at, err := s.next()
		at.File = file
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = f(raw, at)
		}
		n++
		if err != nil && !skip {
			return "", nil, fault.New(fault.Invalid, "%v: record %d: %w", at, n, err)
		}
		if err != nil {
			problems = append(problems, Problem{at, err})
		}
	}
	if n == 0 {
		return "", problems, fault.New(fault.Invalid, "%s holds no record: expected JSON objects, in an array or one per line", file)
	}
	return hex.EncodeToString(h.Sum(nil)), problems, nil
}

// At reads one record again.
func At(w Where) ([]byte, error) {
	in, err := os.Open(w.File)
	if err != nil {
		return nil, fault.New(fault.Invalid, "open recorded tasks: %w", err)
	}
	defer func() { _ = in.Close() }()
	raw := make([]byte, w.Length)
	if _, err := in.ReadAt(raw, w.Offset); err != nil {
		return nil, fault.New(fault.Corrupt, "%v: the file has changed since it was first read: %w", w, err)
	}
	return raw, nil
}

// splitter cuts a stream into its outermost objects.
type splitter struct {
	in   *bufio.Reader
	line int
	at   int64
}

var (
	errTruncated = errors.New("the file ends within the record")
	errTooLong   = fmt.Errorf("the record is longer than %d bytes", maxRecord)
)

func (s *splitter) next() ([]byte, Where, error) {
	var raw bytes.Buffer
	var w Where
	depth, quoted, escaped := 0, false, false
	for {
		c, err := s.in.ReadByte()
		if errors.Is(err, io.EOF) && depth > 0 {
			return nil, w, errTruncated
		}
		if err != nil {
			return nil, w, err
		}
		s.at++
		if c == '\n' {
			s.line++
		}
		if depth == 0 {
			if c != '{' {
				continue
			}
			w.Line, w.Offset = s.line, s.at-1
		}
		if raw.Len() <= maxRecord {
			raw.WriteByte(c)
		}
		switch {
		case escaped:
			escaped = false
		case quoted && c == '\\':
			escaped = true
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			depth++
		case c == '}':
			depth--
		}
		if depth == 0 {
			w.Length = raw.Len()
			if raw.Len() > maxRecord {
				return nil, w, errTooLong
			}
			return raw.Bytes(), w, nil
		}
	}
}
