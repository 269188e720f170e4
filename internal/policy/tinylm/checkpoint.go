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

// ErrCheckpoint means that bytes are not a checkpoint of this version.
var ErrCheckpoint = errors.New("not a small-policy checkpoint")

// tokenizerID must change whenever a change of the tokenizer or the grammar changes the meaning of a parameter.
const tokenizerID = "words-1024x2/kinds-20/v1"

// checkpointFormat is the name of the format in the metadata.
const checkpointFormat = "collabui-tinylm"

// tensorHeader is the entry of a tensor in the header of a safetensors file.
type tensorHeader struct {
	DType   string `json:"dtype"`
	Shape   []int  `json:"shape"`
	Offsets [2]int `json:"data_offsets"`
}

// Encode returns the model as a safetensors file: 8 bytes of header length, a JSON header, and little-endian float32
// data. The header's metadata name the shape, the tokenizer and the kernel that computed the parameters. Equal models
// have equal bytes.
func (m *Model) Encode() []byte {
	header := map[string]any{"__metadata__": map[string]string{
		"format":    checkpointFormat,
		"tokenizer": tokenizerID,
		"kernel":    Kernel(),
		"dim":       strconv.Itoa(m.Cfg.Dim),
		"layers":    strconv.Itoa(m.Cfg.Layers),
		"heads":     strconv.Itoa(m.Cfg.Heads),
		"ff":        strconv.Itoa(m.Cfg.FF),
	}}
	for _, tensor := range m.Tensors {
		header[tensor.Name] = tensorHeader{
			DType:   "F32",
			Shape:   []int{tensor.Rows, tensor.Cols},
			Offsets: [2]int{4 * tensor.Off, 4 * (tensor.Off + tensor.Rows*tensor.Cols)},
		}
	}

	h, _ := json.Marshal(header) // plain values can always be encoded, and keys are sorted
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

func readFloats(data []byte, out []float32) {
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
}

// Decode parses a file that Encode wrote. For other data, the error wraps ErrCheckpoint.
func Decode(data []byte) (*Model, error) {
	if len(data) < 8 {
		return nil, fmt.Errorf("%w: %d bytes", ErrCheckpoint, len(data))
	}

	n := binary.LittleEndian.Uint64(data)
	if n > uint64(len(data)-8) {
		return nil, fmt.Errorf("%w: header of %d bytes in a file of %d", ErrCheckpoint, n, len(data))
	}

	cfg, err := decodeHeader(data[8 : 8+n])
	if err != nil {
		return nil, err
	}

	model := &Model{Cfg: cfg}
	model.Tensors, model.Flat = layout(cfg)
	if uint64(len(data)) != 8+n+uint64(4*len(model.Flat)) {
		return nil, fmt.Errorf("%w: %d bytes for shape %+v", ErrCheckpoint, len(data), cfg)
	}

	readFloats(data[8+n:], model.Flat)
	model.v = bind(cfg, model.Tensors, model.Flat)

	return model, nil
}

// decodeHeader returns the shape that a checkpoint's header describes.
func decodeHeader(data []byte) (Config, error) {
	var header map[string]json.RawMessage
	if err := json.Unmarshal(data, &header); err != nil {
		return Config{}, fmt.Errorf("%w: %v", ErrCheckpoint, err)
	}

	var meta map[string]string
	err := json.Unmarshal(header["__metadata__"], &meta)
	if err != nil || meta["format"] != checkpointFormat || meta["tokenizer"] != tokenizerID {
		return Config{}, fmt.Errorf("%w: metadata %v (%v)", ErrCheckpoint, meta, err)
	}

	num := func(key string) int { v, _ := strconv.Atoi(meta[key]); return v }
	cfg := Config{Dim: num("dim"), Layers: num("layers"), Heads: num("heads"), FF: num("ff")}
	if !cfg.decodable() {
		return Config{}, fmt.Errorf("%w: impossible shape %+v", ErrCheckpoint, cfg)
	}

	return cfg, nil
}

// decodable reports whether a checkpoint may have this shape. The bounds keep a damaged checkpoint from exhausting
// memory.
func (c Config) decodable() bool {
	return c.Dim == c.Heads*headSize && c.Dim >= 16 && c.Dim <= 1024 &&
		c.FF%16 == 0 && c.FF >= 16 && c.FF <= 8192 &&
		c.Layers >= 1 && c.Layers <= 64
}

// TensorDigest returns the SHA-256 of only the parameters, in hex, without the header. A run's final digest covers it.
func (m *Model) TensorDigest() string {
	h := sha256.Sum256(appendFloats(nil, m.Flat))

	return hex.EncodeToString(h[:])
}

// Encode returns the optimiser's state: the number of steps, then the moments.
func (o *Adam) Encode() []byte {
	out := binary.LittleEndian.AppendUint64(nil, uint64(o.T))

	return appendFloats(appendFloats(out, o.M), o.V)
}

// DecodeAdam parses a state that Adam.Encode wrote, for a model of n parameters. For other data, the error wraps
// ErrCheckpoint.
func DecodeAdam(data []byte, n int) (Adam, error) {
	if len(data) == 8 && binary.LittleEndian.Uint64(data) == 0 {
		return Adam{}, nil
	}

	if len(data) != 8+8*n {
		return Adam{}, fmt.Errorf("%w: optimiser state of %d bytes for %d parameters", ErrCheckpoint, len(data), n)
	}

	o := Adam{T: int(binary.LittleEndian.Uint64(data)), M: make([]float32, n), V: make([]float32, n)}
	readFloats(data[8:], o.M)
	readFloats(data[8+4*n:], o.V)

	return o, nil
}
