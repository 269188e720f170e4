package recorded

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxRecord is the largest size of one record of a file, in bytes.
const maxRecord = 256 << 20

var (
	errTruncated = errors.New("the file ends within the record")
	errTooLong   = fmt.Errorf("the record is longer than %d bytes", maxRecord)
)

// splitter cuts a stream into its outermost JSON objects. It counts braces outside of strings and checks nothing else.
type splitter struct {
	in   *bufio.Reader
	line int
	at   int64
}

// next returns the next object, or io.EOF after the last one.
func (s *splitter) next() ([]byte, Where, error) {
	var raw bytes.Buffer
	var where Where
	depth := 0
	quoted := false
	escaped := false
	for {
		c, err := s.in.ReadByte()
		if errors.Is(err, io.EOF) && depth > 0 {
			return nil, where, errTruncated
		}
		if err != nil {
			return nil, where, err
		}

		s.at++
		if c == '\n' {
			s.line++
		}
		if depth == 0 {
			if c != '{' {
				continue
			}
			where.Line = s.line
			where.Offset = s.at - 1
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
		if depth > 0 {
			continue
		}

		where.Length = raw.Len()
		if where.Length > maxRecord {
			return nil, where, errTooLong
		}
		return raw.Bytes(), where, nil
	}
}
