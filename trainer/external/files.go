package external

import (
	"archive/zip"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/collabui/collabui/fault"
)

func sorted[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// maxHeader bounds the header of a safetensors file.
const maxHeader = 100 << 20

// WholeTensors gives the size of a safetensors file that is whole: its header parses, and the tensors that it declares fill the file.
func WholeTensors(file string) (int64, error) {
	f, err := os.Open(file)
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	var n uint64
	if err := binary.Read(f, binary.LittleEndian, &n); err != nil || n > maxHeader {
		return 0, fmt.Errorf("%s is no safetensors file", file)
	}
	raw := make([]byte, n)
	if _, err := io.ReadFull(f, raw); err != nil {
		return 0, fmt.Errorf("%s is cut off in its header", file)
	}
	var header map[string]struct {
		Offsets [2]int64 `json:"data_offsets"`
	}
	var meta map[string]json.RawMessage
	if err := json.Unmarshal(raw, &meta); err != nil {
		return 0, fmt.Errorf("%s has no readable header: %w", file, err)
	}
	delete(meta, "__metadata__")
	if raw, err = json.Marshal(meta); err == nil {
		err = json.Unmarshal(raw, &header)
	}
	if err != nil {
		return 0, fmt.Errorf("%s has no readable header: %w", file, err)
	}
	end := int64(0)
	for _, t := range header {
		end = max(end, t.Offsets[1])
	}
	if want := 8 + int64(n) + end; st.Size() != want || end == 0 {
		return 0, fmt.Errorf("%s has %d bytes instead of %d", file, st.Size(), want)
	}
	return st.Size(), nil
}

// WholeArchive tells whether a file that torch.save wrote is whole: it is a zip archive, whose directory stands at its end.
func WholeArchive(file string) bool {
	z, err := zip.OpenReader(file)
	if err != nil {
		return false
	}
	return z.Close() == nil
}

// lock keeps a second attempt on this host out of a job's folder until the first has ended, however it ended.
func lock(ctx context.Context, dir string) (func(), error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fault.New(fault.Transient, "make the job's folder: %w", err)
	}
	f, err := os.OpenFile(dir+".lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fault.New(fault.Transient, "lock the job's folder: %w", err)
	}
	for {
		if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
			touch(dir + ".lock")
			err = os.MkdirAll(dir, 0o755) // the holder before may have ended the job
			if err == nil {
				return func() { _ = f.Close() }, nil
			}
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			_ = f.Close()
			return nil, fault.New(fault.Transient, "lock the job's folder: %w", err)
		}
		select {
		case <-ctx.Done():
			_ = f.Close()
			return nil, context.Cause(ctx)
		case <-time.After(200 * time.Millisecond):
		}
	}
}
