// Package tinylm implements the small embedded policy: a causal decoder language model with about a quarter of a
// million parameters, trained from scratch in Go. It reads a prompt's text and writes Reason/Action text as a large
// model would.
//
// It links no browser driver. It links no Temporal.
package tinylm

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Config is the shape of a model. Dim/Heads must be 16, which is the width of the attention kernels.
type Config struct {
	Dim, Layers, Heads, FF int
}

// DefaultConfig is the shape of the embedded policy, which has 262 thousand parameters.
var DefaultConfig = Config{Dim: 64, Layers: 2, Heads: 4, FF: 256}

// headSize is the width of an attention head.
const headSize = 16

// Relations between a query and an earlier key. The bias of a head is the sum of one entry of each table.
const (
	relPlaces = 5                    // self, the previous token, the one before it, same line, elsewhere
	relKinds  = 2 * int(numSections) // same word or not, by the key's section
	relAll    = relPlaces * relKinds // combined table, built once per pass
	numFlags  = 4                    // combinations of flagGoal and flagHistory
	normEps   = 1e-6                 // ε of RMSNorm
)

// Tensor is a named parameter: a row-major part of a model's flat vector.
type Tensor struct {
	Name       string
	Rows, Cols int
	Off        int // offset of its first element
}

// layerView holds the tensors of a layer.
type layerView struct {
	norm1, qkv, out, norm2, up, down, relPlace, relKind []float32
}

// view holds the tensors of a model or of its gradient, as slices of the flat vector.
type view struct {
	word1, word2, sec, line, col, flag, piece []float32
	layers                                    []layerView
	norm, kind, query, key                    []float32
}

// Model holds the parameters of a policy. Any number of goroutines may read it while it is not being trained.
type Model struct {
	Cfg     Config
	Tensors []Tensor
	Flat    []float32
	v       view
}

// New returns a model with parameters drawn from seed. It panics if the shape is impossible, which is a programming
// error, because shapes are constants or come from a verified checkpoint.
func New(cfg Config, seed uint64) *Model {
	if cfg.Dim != cfg.Heads*headSize || cfg.Dim%16 != 0 || cfg.FF%16 != 0 || cfg.Layers < 1 {
		panic(fmt.Sprintf("tinylm: impossible shape %+v", cfg))
	}

	model := &Model{Cfg: cfg}
	model.Tensors, model.Flat = layout(cfg)
	model.v = bind(cfg, model.Tensors, model.Flat)

	r := rand.New(rand.NewPCG(seed, 0x7469_6e79))
	for _, tensor := range model.Tensors {
		x := model.Flat[tensor.Off : tensor.Off+tensor.Rows*tensor.Cols]
		switch {
		case tensor.Rows == 1: // gains of norms
			for i := range x {
				x[i] = 1
			}
		case tensor.Rows == relPlaces || tensor.Rows == relKinds: // biases start at 0
		default:
			std := math.Sqrt(1 / float64(tensor.Rows))
			if tensor.Name[0] == 'e' {
				std = 0.3
			}
			if tensor.Name == "kind" {
				std = 0.02
			}
			for i := range x {
				x[i] = float32(r.NormFloat64() * std)
			}
		}
	}

	return model
}

// Clone returns an independent copy.
func (m *Model) Clone() *Model {
	model := &Model{Cfg: m.Cfg, Tensors: m.Tensors, Flat: append([]float32(nil), m.Flat...)}
	model.v = bind(m.Cfg, model.Tensors, model.Flat)

	return model
}

// Finite reports whether all parameters are finite numbers.
func (m *Model) Finite() bool {
	for _, x := range m.Flat {
		if x != x || x > math.MaxFloat32 || x < -math.MaxFloat32 {
			return false
		}
	}

	return true
}

// layout returns the tensors of a shape, in the order of a checkpoint, and a flat vector of their size.
func layout(cfg Config) ([]Tensor, []float32) {
	var ts []Tensor
	off := 0
	add := func(name string, rows, cols int) {
		ts = append(ts, Tensor{name, rows, cols, off})
		off += rows * cols
	}

	d := cfg.Dim
	add("embed.word1", hashBuckets, d)
	add("embed.word2", hashBuckets, d)
	add("embed.section", int(numSections), d)
	add("embed.line", maxLines, d)
	add("embed.col", maxCols, d)
	add("embed.flag", numFlags, d)
	add("embed.piece", numPieces, d)

	for l := 0; l < cfg.Layers; l++ {
		n := fmt.Sprintf("layer%d.", l)
		add(n+"norm1", 1, d)
		add(n+"qkv", d, 3*d)
		add(n+"out", d, d)
		add(n+"norm2", 1, d)
		add(n+"up", d, cfg.FF)
		add(n+"down", cfg.FF, d)
		add(n+"rel.place", relPlaces, cfg.Heads)
		add(n+"rel.kind", relKinds, cfg.Heads)
	}

	add("norm", 1, d)
	add("kind", d, kindSlots)
	add("query", d, numPointers*d)
	add("key", d, numPointers*d)

	return ts, make([]float32, off)
}

// bind returns the tensors as slices of flat.
func bind(cfg Config, ts []Tensor, flat []float32) view {
	at := 0
	next := func() []float32 {
		tensor := ts[at]
		at++

		return flat[tensor.Off : tensor.Off+tensor.Rows*tensor.Cols : tensor.Off+tensor.Rows*tensor.Cols]
	}

	// The calls of next are executed in the order in which they are written, which is the order of layout.
	v := view{word1: next(), word2: next(), sec: next(), line: next(), col: next(), flag: next(), piece: next()}
	for range cfg.Layers {
		v.layers = append(v.layers, layerView{
			norm1:    next(),
			qkv:      next(),
			out:      next(),
			norm2:    next(),
			up:       next(),
			down:     next(),
			relPlace: next(),
			relKind:  next(),
		})
	}

	v.norm = next()
	v.kind = next()
	v.query = next()
	v.key = next()

	return v
}

// pad rounds n up to a multiple of to.
func pad(n, to int) int { return (n + to - 1) / to * to }
