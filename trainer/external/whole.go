package external

import (
	"archive/zip"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/collabui/collabui/fault"
)

// maxHeader bounds the header of a safetensors file, in bytes.
const maxHeader = 100 << 20

// tensor is where a tensor of a safetensors file lies, in bytes after the header.
type tensor struct {
	Type    string   `json:"dtype"`
	Offsets [2]int64 `json:"data_offsets"`
}

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
	from, all, err := tensors(f)
	if err != nil {
		return 0, err
	}
	end := int64(0)
	for _, t := range all {
		end = max(end, t.Offsets[1])
	}
	if want := from + end; st.Size() != want || end == 0 {
		return 0, fmt.Errorf("%s has %d bytes instead of %d", file, st.Size(), want)
	}

	return st.Size(), nil
}

// tensors reads the header of a safetensors file. from is where it ends.
func tensors(file *os.File) (from int64, all map[string]tensor, err error) {
	var n uint64
	if err := binary.Read(file, binary.LittleEndian, &n); err != nil || n > maxHeader {
		return 0, nil, fmt.Errorf("%s is not a safetensors file", file.Name())
	}
	header := make([]byte, n)
	if _, err := io.ReadFull(file, header); err != nil {
		return 0, nil, fmt.Errorf("%s is cut off in its header", file.Name())
	}
	var raw map[string]json.RawMessage
	err = json.Unmarshal(header, &raw)
	delete(raw, "__metadata__")
	all = map[string]tensor{}
	for name, rawMessage := range raw {
		var t tensor
		err = errors.Join(err, json.Unmarshal(rawMessage, &t))
		all[name] = t
	}
	if err != nil {
		return 0, nil, fmt.Errorf("%s has no readable header: %w", file.Name(), err)
	}

	return 8 + int64(n), all, nil
}

// finite reports whether no parameter in a file of a policy is infinite or not a number. Files of other kinds have no
// parameters.
func finite(name, file string) (bool, error) {
	if !strings.HasSuffix(name, ".safetensors") {
		return true, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return false, explainIO(err)
	}
	defer func() { _ = f.Close() }()
	from, all, err := tensors(f)
	if err != nil {
		return false, fault.As(fault.Transient, err) // the program may still be writing it
	}

	for _, t := range all {
		kind, ok := floats[t.Type]
		if !ok {
			continue
		}
		ok, err := finiteAll(io.NewSectionReader(f, from+t.Offsets[0], t.Offsets[1]-t.Offsets[0]), kind)
		if err != nil || !ok {
			return false, explainIO(err)
		}
	}

	return true, nil
}

// float is a kind of floating-point numbers: its size in bytes, and the exponent of what is no number, which is in the
// two highest bytes.
type float struct {
	size     int
	exponent uint16
}

var floats = map[string]float{"F32": {4, 0x7F80}, "BF16": {2, 0x7F80}, "F16": {2, 0x7C00}, "F64": {8, 0x7FF0}}

// finiteAll reports whether all numbers are finite.
func finiteAll(reader io.Reader, kind float) (bool, error) {
	chunk := make([]byte, 1<<20)
	for {
		n, err := io.ReadFull(reader, chunk)
		for at := kind.size; at <= n; at += kind.size {
			if binary.LittleEndian.Uint16(chunk[at-2:])&kind.exponent == kind.exponent {
				return false, nil
			}
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return true, nil
		case err != nil:
			return false, err
		}
	}
}

// WholeArchive reports whether a file that torch.save wrote is whole. It is a zip archive, with its directory at the
// end.
func WholeArchive(file string) bool {
	readCloser, err := zip.OpenReader(file)
	if err != nil {
		return false
	}

	return readCloser.Close() == nil
}
