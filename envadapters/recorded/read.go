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

	"github.com/go-json-experiment/json/jsontext"

	"github.com/collabui/collabui/fault"
)

// Where is the place of a record in a file.
type Where struct {
	File string
	// Line is the line of the record's first character, from 1. It is 0 if the whole file is meant.
	Line int
	// Offset and Length are in bytes.
	Offset int64
	Length int
}

func (w Where) String() string { return fmt.Sprintf("%s:%d", w.File, w.Line) }

// Problem is the failure to read a record or a whole file.
type Problem struct {
	Where Where
	Err   error
}

func (p Problem) String() string {
	if p.Where.Line == 0 {
		return p.Err.Error() // which names the file
	}

	return fmt.Sprintf("%v: %v", p.Where, p.Err)
}

// Summary counts problems and names the first ones. It returns "" if there are no problems.
func Summary(problems []Problem) string {
	const most = 5
	if len(problems) == 0 {
		return ""
	}
	out := fmt.Sprintf("skipped %d:", len(problems))
	for i, problem := range problems[:min(most, len(problems))] {
		if i > 0 {
			out += ","
		}
		out += " " + problem.String()
	}
	if more := len(problems) - most; more > 0 {
		out += fmt.Sprintf(", and %d more", more)
	}

	return out
}

// Skips parses the option broken. It reports whether to skip records that cannot be read.
func Skips(suite, broken string) (bool, error) {
	switch broken {
	case "skip":
		return true, nil
	case "", "stop":
		return false, nil
	}

	return false, fault.New(fault.Invalid, "%s: broken: expected stop or skip, not %q", suite, broken)
}

// Read calls f for the JSON objects of a file, which contains an array of objects or a sequence of them. It keeps one
// record in memory at a time and returns the SHA-256 of the file. A record that is not JSON or not UTF-8, that has a
// duplicate member, or for which f fails, is a problem. With skip, Read returns the problems and continues; otherwise
// it fails with the file and the line. A file that cannot be read at all is a problem, too, and its digest is empty.
// Read ignores everything between the objects.
func Read(file string, skip bool, f func(raw []byte, at Where) error) (
	digest string, problems []Problem, err error,
) {
	whole := func(err error) (string, []Problem, error) {
		if skip {
			return "", []Problem{{Where{File: file}, err}}, nil
		}
		return "", nil, err
	}
	if err := checkFile(file); err != nil {
		return whole(err)
	}
	in, err := os.Open(file)
	if err != nil {
		return whole(fault.New(fault.Invalid, "open recorded tasks: %w", err))
	}
	defer func() { _ = in.Close() }()

	sum := sha256.New()
	s := splitter{in: bufio.NewReaderSize(io.TeeReader(in, sum), 1<<20), line: 1}
	n := 0
	for {
		raw, at, err := s.next()
		at.File = file
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil { // text that programs read in several ways: halves of characters, duplicate members
			_, err = jsontext.NewDecoder(bytes.NewReader(raw)).ReadValue()
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
		return whole(fault.New(fault.Invalid,
			"%s has no records: expected JSON objects, in an array or one per line", file))
	}

	return hex.EncodeToString(sum.Sum(nil)), problems, nil
}

// At reads one record again.
func At(where Where) ([]byte, error) {
	in, err := os.Open(where.File)
	if err != nil {
		return nil, fault.New(fault.Invalid, "open recorded tasks: %w", err)
	}
	defer func() { _ = in.Close() }()

	raw := make([]byte, where.Length)
	if _, err := in.ReadAt(raw, where.Offset); err != nil {
		return nil, fault.New(fault.Corrupt, "%v: the file has changed since it was first read: %w", where, err)
	}

	return raw, nil
}
