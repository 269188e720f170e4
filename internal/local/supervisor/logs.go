package supervisor

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/collabui/collabui/fault"
)

// maxLog is the size, in bytes, above which a log is set aside.
const maxLog = 32 << 20

// trim moves the lines of a log into a file beside it, replacing the previous one, if the log is larger than most
// bytes. So the logs of months take at most twice that size. The process continues to write at the beginning of the
// log. Lines that it writes in between may be lost.
func trim(path string, most int64) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() <= most {
		return nil
	}
	if err != nil {
		return fault.As(fault.Transient, err)
	}
	from, err := os.Open(path)
	if err != nil {
		return fault.As(fault.Transient, err)
	}
	defer func() { _ = from.Close() }()
	to, err := os.Create(path + ".copy")
	if err != nil {
		return fault.As(fault.Transient, err)
	}
	_, err = io.Copy(to, from)
	err = errors.Join(err, to.Close())
	if err == nil {
		err = os.Rename(to.Name(), path+".old")
	}
	if err != nil { // a full disk must not cost any lines
		return fault.As(fault.Transient, errors.Join(err, os.Remove(to.Name())))
	}

	return fault.As(fault.Transient, os.Truncate(path, 0))
}

// newest is the number of bytes at the end of a log that are read for error messages.
const newest = 64 << 10

// tail returns the last lines of a log, for error messages.
func tail(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }()
	if info, err := file.Stat(); err == nil && info.Size() > newest {
		_, _ = file.Seek(-newest, io.SeekEnd)
	}
	data, err := io.ReadAll(io.LimitReader(file, newest))
	if err != nil || len(data) == 0 {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")

	return "\n  " + strings.Join(lines[max(0, len(lines)-3):], "\n  ")
}

// lastLine returns the last line of a log, for the reason why a service ended.
func lastLine(path string) string {
	const most = 300 // bytes
	text := tail(path)
	at := strings.LastIndexByte(text, '\n')
	if at < 0 {
		return ""
	}
	line := strings.TrimSpace(text[at+1:])

	return ": " + strings.ToValidUTF8(line[:min(len(line), most)], "")
}
