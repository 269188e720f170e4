package external

import (
	"archive/zip"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// maxHeader bounds the header of a safetensors file, in bytes.
const maxHeader = 100 << 20

// WholeTensors returns the size of a safetensors file. It fails unless the file is whole: its header parses, and the
// tensors that it declares fill the file.
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
		return 0, fmt.Errorf("%s is not a safetensors file", file)
	}
	header := make([]byte, n)
	if _, err := io.ReadFull(f, header); err != nil {
		return 0, fmt.Errorf("%s is cut off in its header", file)
	}

	end, err := tensorsEnd(header)
	if err != nil {
		return 0, fmt.Errorf("%s has no readable header: %w", file, err)
	}
	if want := 8 + int64(n) + end; st.Size() != want || end == 0 {
		return 0, fmt.Errorf("%s has %d bytes instead of %d", file, st.Size(), want)
	}

	return st.Size(), nil
}

// tensorsEnd returns where the last tensor of a header ends, in bytes after the header.
func tensorsEnd(header []byte) (int64, error) {
	var tensors map[string]json.RawMessage
	if err := json.Unmarshal(header, &tensors); err != nil {
		return 0, err
	}
	delete(tensors, "__metadata__")

	end := int64(0)
	for _, raw := range tensors {
		var t struct {
			Offsets [2]int64 `json:"data_offsets"`
		}
		if err := json.Unmarshal(raw, &t); err != nil {
			return 0, err
		}
		end = max(end, t.Offsets[1])
	}

	return end, nil
}

// WholeArchive reports whether a file that torch.save wrote is whole. It is a zip archive, with its directory at the
// end.
func WholeArchive(file string) bool {
	z, err := zip.OpenReader(file)
	if err != nil {
		return false
	}

	return z.Close() == nil
}
