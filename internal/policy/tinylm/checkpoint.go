package tinylm

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
)

// ErrCheckpoint says that bytes are no checkpoint of this version.
var ErrCheckpoint = errors.New("not a small-policy checkpoint")

// tokenizerID changes whenever tokenizer or grammar change what a parameter means.
const tokenizerID = "words-1024x2/kinds-20/v1"

type tensorHeader struct {
	DType   string `json:"dtype"`
	Shape   []int  `json:"shape"`
	Offsets [2]int `json:"data_offsets"`
}

// Encode writes the model as one safetensors file: 8 bytes header length, JSON header, float32 data in little endian. The header's metadata name the
// shape, the tokenizer and the kernel that made the parameters. Equal models give equal bytes.
func (m *Model) Encode() []byte {
	header := map[string]any{"__metadata__": map[string]string{
		"format": "collabui-tinylm", "tokenizer": tokenizerID, "kernel": Kernel(), "dim": strconv.Itoa(m.Cfg.Dim),
		"layers": strconv.Itoa(m.Cfg.Layers), "heads": strconv.Itoa(m.Cfg.Heads), "ff": strconv.Itoa(m.Cfg.FF)}}
	for _, t := range m.Tensors {
		header[t.Name] = tensorHeader{"F32", []int{t.Rows, t.Cols}, [2]int{4 * t.Off, 4 * (t.Off + t.Rows*t.Cols)}}
	}
	h, _ := json.Marshal(header) // maps of plain values cannot fail; keys come out sorted
	for (len(h)+8)%8 != 0 {
		h = append(h, ' ')
	}
	out := binary.LittleEndian.AppendUint64(nil, uint64(len(h)))
	return appendFloats(append(out, h...), m.Flat)
}

func appendFloats(out []byte, xs []float32) []byte {
	for _, x := range xs {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(x))
	}
	return out
}

func readFloats(b []byte, out []float32) {
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
}

// Decode reads what Encode wrote.
func Decode(b []byte) (*Model, error) {
	if len(b) < 8 {
		return nil, fmt.Errorf("%w: %d bytes", ErrCheckpoint, len(b))
	}
	n := binary.LittleEndian.Uint64(b)
	if n > uint64(len(b)-8) {
		return nil, fmt.Errorf("%w: header of %d bytes in a file of %d", ErrCheckpoint, n, len(b))
	}
	var header map[string]json.RawMessage
	var meta map[string]string
	if err := json.Unmarshal(b[8:8+n], &header); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrCheckpoint, err)
	}
	if err := json.Unmarshal(header["__metadata__"], &meta); err != nil || meta["format"] != "collabui-tinylm" || meta["tokenizer"] != tokenizerID {
		return nil, fmt.Errorf("%w: metadata %v (%v)", ErrCheckpoint, meta, err)
	}
	num := func(k string) int { v, _ := strconv.Atoi(meta[k]); return v }
	cfg := Config{Dim: num("dim"), Layers: num("layers"), Heads: num("heads"), FF: num("ff")}
	if cfg.Dim != cfg.Heads*headSize || cfg.Dim < 16 || cfg.Dim > 1024 || cfg.FF%16 != 0 || cfg.FF < 16 || cfg.FF > 8192 || cfg.Layers < 1 || cfg.Layers > 64 {
		return nil, fmt.Errorf("%w: impossible shape %+v", ErrCheckpoint, cfg)
	}
	m := &Model{Cfg: cfg}
	m.Tensors, m.Flat = layout(cfg)
	if uint64(len(b)) != 8+n+uint64(4*len(m.Flat)) {
		return nil, fmt.Errorf("%w: %d bytes for shape %+v", ErrCheckpoint, len(b), cfg)
	}
	readFloats(b[8+n:], m.Flat)
	m.v = bind(cfg, m.Tensors, m.Flat)
	return m, nil
}

// TensorDigest is the SHA-256 of the parameters alone, without the header: what a run's final digest holds.
func (m *Model) TensorDigest() string {
	h := sha256.Sum256(appendFloats(nil, m.Flat))
	return hex.EncodeToString(h[:])
}

// Encode writes the optimiser's state; DecodeAdam reads it for a model of n parameters.
func (o *Adam) Encode() []byte {
	out := binary.LittleEndian.AppendUint64(nil, uint64(o.T))
	return appendFloats(appendFloats(out, o.M), o.V)
}

// DecodeAdam reads what Adam.Encode wrote.
func DecodeAdam(b []byte, n int) (Adam, error) {
	if len(b) == 8 && binary.LittleEndian.Uint64(b) == 0 {
		return Adam{}, nil
	}
	if len(b) != 8+8*n {
		return Adam{}, fmt.Errorf("%w: optimiser state of %d bytes for %d parameters", ErrCheckpoint, len(b), n)
	}
	o := Adam{T: int(binary.LittleEndian.Uint64(b)), M: make([]float32, n), V: make([]float32, n)}
	readFloats(b[8:], o.M)
	readFloats(b[8+4*n:], o.V)
	return o, nil
}
