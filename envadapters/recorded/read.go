package recorded

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/collabui/collabui/fault"
)

// Where is the place of a record in a file.
type Where struct {
	File string
	// Line is that of the record's first character, from 1.
	Line int
	// Offset and Length are in bytes.
	Offset int64
	Length int
}

func (w Where) String() string { return fmt.Sprintf("%s:%d", w.File, w.Line) }

// Problem is a record that could not be read.
type Problem struct {
	Where Where
	Err   error
}

func (p Problem) String() string { return fmt.Sprintf("skipped %v: %v", p.Where, p.Err) }

// Skips reads the option broken. It reports whether to skip records that cannot be read.
func Skips(suite, broken string) (bool, error) {
	switch broken {
	case "skip":
		return true, nil
	case "", "stop":
		return false, nil
	}

	return false, fault.New(fault.Invalid, "%s: broken: expected stop or skip, not %q", suite, broken)
}

// Read calls f for the JSON objects of a file, which holds an array of them or one after the other. It keeps one record
// in memory at a time and returns the SHA-256 of the file. A record that is not JSON, or for which f fails, is a
// problem: with skip Read returns it and continues; otherwise it fails with file and line. Read ignores what is between
// the objects.
func Read(file string, skip bool, f func(raw []byte, at Where) error) (
	digest string, problems []Problem, err error,
) {
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
		return "", problems, fault.New(fault.Invalid,
			"%s has no records: expected JSON objects, in an array or one per line", file)
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
