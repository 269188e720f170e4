package disk

import (
	"io"
	"os"

	"github.com/collabui/collabui/fault"
)

// Read returns the contents of a regular file of at most the given number of bytes. Larger files are invalid faults,
// and so are devices and pipes, which may have no end or block. It may be repeated.
func Read(file string, most int64) ([]byte, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, fault.New(fault.Invalid, "read the file: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fault.New(fault.Invalid, "%s is no regular file", file)
	}
	in, err := os.Open(file)
	if err != nil {
		return nil, fault.New(fault.Invalid, "read the file: %w", err)
	}
	defer func() { _ = in.Close() }()

	raw, err := io.ReadAll(io.LimitReader(in, most+1))
	if err != nil {
		return nil, fault.New(fault.Invalid, "read %s: %w", file, err)
	}
	if int64(len(raw)) > most {
		return nil, fault.New(fault.Invalid, "%s has more than %d bytes, which is too much", file, most)
	}

	return raw, nil
}
